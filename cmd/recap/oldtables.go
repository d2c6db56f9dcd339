package main

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"
)

// laterColumns are those that adk-go v2 added to the table of events.
var laterColumns = []string{"routes_json", "output_json", "node_info_json", "requested_input_json", "isolation_scope"}

// withLaterColumns is a SQLite file, opened for reading, as if adk-go v1 had had
// the columns of v2: a temporary view, which is in no file, stands before the
// table. It belongs to one connection, so there is only one.
func (d *db) withLaterColumns(dsn string) (gorm.Dialector, error) {
	var missing []string
	for _, column := range laterColumns {
		if !d.orm.Migrator().HasColumn("events", column) {
			missing = append(missing, "NULL AS "+column)
		}
	}
	if len(missing) == 0 {
		return sqlite.Open(dsn), nil
	}
	pool, err := sql.Open(sqlite.DriverName, dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	pool.SetConnMaxIdleTime(0)
	view := "CREATE TEMP VIEW events AS SELECT rowid AS rowid, *, " + strings.Join(missing, ", ") + " FROM main.events"
	if _, err := pool.Exec(view); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return sqlite.New(sqlite.Config{Conn: pool}), nil
}
