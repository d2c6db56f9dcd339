package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/libtnb/sqlite"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/adkpython"
	"github.com/recap-adk/recap/session/database"
)

// databaseHelp is what commands say about the argument DB.
const databaseHelp = `DB is a SQLite file, or the DSN of a PostgreSQL or MySQL database such as
postgres://user@host/name or mysql://user@host/name; a driver's own form will do.
Its tables are those of adk-go and Recap or, in SQLite, those of adk-python.`

// access is what a command does with a database.
type access int

const (
	reading  access = iota // a SQLite file is opened read-only
	writing                // into tables that are there
	creating               // what is not there is made
)

// db is a database of sessions.
type db struct {
	name    string // for messages: without a password
	service session.Service
	orm     *gorm.DB // a second way in, for what the service has no method for
	path    string   // of a SQLite file
	created bool     // by this process
	tidy    bool     // see openFile
}

// openDB opens the database that an argument names. Everything that can be
// wrong with it is an inputError of one line that begins with its name.
func openDB(argument string, mode access) (*db, error) {
	kind, dsn, name, err := parseDSN(argument)
	if err != nil {
		return nil, inputError{err}
	}
	d := &db{name: name}
	if kind == "sqlite" {
		d.path = dsn
		if dsn, err = d.openFile(mode); err != nil {
			return nil, inputError{fmt.Errorf("%s: %w", name, reason(err))}
		}
	}
	err = d.connect(kind, dsn, mode)
	if err != nil && d.tidy {
		// In a folder where nothing can be written SQLite reads a database in WAL
		// mode only if it is promised that nobody else writes.
		if again := errors.Join(d.disconnect(), d.connect(kind, dsn+"&immutable=1", mode)); again == nil {
			err, d.tidy = nil, false
		}
	}
	if err != nil {
		return nil, inputError{errors.Join(fmt.Errorf("%s: not a database that can be used: %w", name, err), d.close(false))}
	}
	return d, nil
}

var (
	mysqlForm    = regexp.MustCompile(`^([^/]*@)?(tcp|tcp4|tcp6|unix)(\([^)]*\))?/`)
	postgresForm = regexp.MustCompile(`^\s*(\w+\s*=\s*('[^']*'|\S+)\s*)+$`)
	postgresKey  = regexp.MustCompile(`\b(host|dbname|user|port|service)\s*=`)
)

// parseDSN finds out which kind of database an argument names, the DSN as its
// driver wants it, or the path of a file, and what it is called in messages.
func parseDSN(argument string) (kind, dsn, name string, err error) {
	scheme, _, isURL := strings.Cut(argument, "://")
	switch {
	case argument == "":
		return "", "", "", errors.New("the name of the database is empty")
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return "postgres", argument, redacted(argument), nil
	case isURL && scheme == "mysql":
		dsn, err := mysqlDSN(argument)
		return "mysql", dsn, redacted(argument), err
	case mysqlForm.MatchString(argument):
		cfg, err := mysqldriver.ParseDSN(argument)
		if err != nil {
			return "", "", "", fmt.Errorf("a DSN of MySQL: %w", err)
		}
		return "mysql", argument, "mysql://" + cfg.Addr + "/" + cfg.DBName, nil
	case postgresForm.MatchString(argument) && postgresKey.MatchString(argument):
		return "postgres", argument, "the PostgreSQL database", nil
	}
	if _, err := os.Stat(argument); isURL && err != nil && regexp.MustCompile(`^\w+$`).MatchString(scheme) {
		return "", "", "", fmt.Errorf("%s: databases of kind %q are not supported; a file, postgres:// and mysql:// are", redacted(argument), scheme)
	}
	return "sqlite", argument, argument, nil
}

func redacted(dsn string) string {
	if u, err := url.Parse(dsn); err == nil {
		return u.Scheme + "://" + u.Host + u.Path
	}
	scheme, _, _ := strings.Cut(dsn, "://")
	return scheme + "://…"
}

// mysqlDSN is a URL as the driver wants it.
func mysqlDSN(argument string) (string, error) {
	u, err := url.Parse(argument)
	if err != nil {
		return "", fmt.Errorf("%s: not a URL", redacted(argument))
	}
	address := "tcp(" + u.Host + ")"
	if socket := u.Query().Get("socket"); socket != "" {
		address = "unix(" + socket + ")"
	}
	query := u.Query()
	query.Del("socket")
	user := ""
	if u.User != nil {
		password, _ := u.User.Password()
		user = u.User.Username() + ":" + password + "@"
	}
	dsn := user + address + u.Path
	if u.Path == "" {
		dsn += "/"
	}
	if encoded := query.Encode(); encoded != "" {
		dsn += "?" + encoded
	}
	if _, err := mysqldriver.ParseDSN(dsn); err != nil {
		return "", fmt.Errorf("%s: %w", redacted(argument), err)
	}
	return dsn, nil
}

// openFile makes sure that the file is there, or creates it, and returns it as
// a URI: of a bare path SQLite and its driver would take "?", "file:" and
// ":memory:" for something else.
func (d *db) openFile(mode access) (string, error) {
	if mode == creating {
		if err := d.prepare(); err != nil {
			return "", err
		}
	}
	if err := d.checkFile(mode); err != nil {
		return "", err
	}
	switch {
	case d.created:
		// In WAL mode readers and the writer do not wait for each other. A
		// database that was there keeps its own mode.
		return fileURI(d.path, "_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	case mode == reading:
		// A reader of a database in WAL mode leaves two empty files behind,
		// which only one that may write can remove.
		_, err := os.Stat(d.path + "-wal")
		d.tidy = errors.Is(err, fs.ErrNotExist)
		return fileURI(d.path, "mode=ro")
	}
	return fileURI(d.path, "mode=rw")
}

func fileURI(path, query string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // before the letter of a drive
	}
	uri := url.URL{Scheme: "file", Path: path, RawQuery: query}
	return uri.String(), nil
}

// prepare creates the file if it is not there, and finds out whether it can be
// written.
func (d *db) prepare() error {
	file, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	d.created = err == nil
	if errors.Is(err, fs.ErrExist) {
		file, err = os.OpenFile(d.path, os.O_RDWR, 0)
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// checkFile tells a file of another kind before SQLite opens it.
func (d *db) checkFile(mode access) error {
	flag := os.O_RDONLY
	if mode != reading {
		flag = os.O_RDWR
	}
	file, err := os.OpenFile(d.path, flag, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return errors.Join(err, errors.New("is a directory"))
	}
	head := make([]byte, 16)
	n, err := io.ReadFull(file, head)
	switch {
	case n == 0 && mode == creating:
		return nil
	case n == 0:
		return errors.New("the file is empty: it has no sessions")
	case err != nil || !bytes.Equal(head, []byte("SQLite format 3\x00")):
		return errors.New("not a database that can be used: it is no SQLite file")
	}
	return nil
}

func (d *db) connect(kind, dsn string, mode access) (err error) {
	dialector := map[string]func(string) gorm.Dialector{"sqlite": sqlite.Open, "postgres": postgres.Open, "mysql": mysql.Open}[kind]
	quiet := &gorm.Config{Logger: logger.Discard}
	if d.orm, err = gorm.Open(dialector(dsn), quiet); err != nil {
		d.orm = nil
		return err
	}
	if kind == "sqlite" && d.isPython() {
		d.service, err = adkpython.NewSessionService(dialector(dsn), quiet)
		return err
	}
	if err := d.checkTables(mode); err != nil {
		return err
	}
	tables := dialector(dsn)
	if kind == "sqlite" && mode == reading {
		if tables, err = d.withLaterColumns(dsn); err != nil {
			return err
		}
	}
	if d.service, err = database.NewSessionService(tables, quiet); err != nil {
		return err
	}
	if mode == creating {
		return database.AutoMigrate(d.service)
	}
	return nil
}

// isPython reports whether the tables are those of adk-python: the current ones,
// or the old ones with pickled actions, which package adkpython refuses.
func (d *db) isPython() bool {
	var found int
	err := d.orm.Raw("SELECT count(*) FROM pragma_table_info('events') WHERE name = 'event_data'").Scan(&found).Error
	if err == nil && found == 0 {
		err = d.orm.Raw("SELECT count(*) FROM (SELECT actions FROM events LIMIT 1) WHERE substr(CAST(actions AS blob), 1, 1) = x'80'").Scan(&found).Error
	}
	return err == nil && found > 0
}

// checkTables makes sure that a database is empty or one of sessions, and not
// another program's, before anything else is done with it.
func (d *db) checkTables(mode access) error {
	tables, err := d.orm.Migrator().GetTables()
	switch {
	case err != nil:
		return err
	case len(tables) == 0 && mode == creating:
		return nil
	case len(tables) == 0:
		return errors.New("it has no tables")
	}
	for _, query := range []string{
		"SELECT app_name, user_id, id, state FROM sessions WHERE 1 = 0",
		"SELECT app_name, user_id, session_id, id, invocation_id, actions, content, timestamp FROM events WHERE 1 = 0",
	} {
		rows, err := d.orm.Raw(query).Rows()
		if err != nil {
			return errors.New("it has tables, but not those of sessions")
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}

// apps are the names of the applications that have sessions, in order.
func (d *db) apps(ctx context.Context) ([]string, error) {
	var names []string
	err := d.orm.WithContext(ctx).Table("sessions").Distinct("app_name").Order("app_name").Pluck("app_name", &names).Error
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return names, nil
}

// close closes the database. Unless the result is to be kept, a file that this
// process created is removed.
func (d *db) close(keep bool) error {
	err := d.disconnect()
	if d.tidy {
		d.tidyUp()
	}
	if !keep && d.created {
		err = errors.Join(err, removeDatabase(d.path))
	}
	return err
}

func (d *db) disconnect() error {
	var errs []error
	if closer, ok := d.service.(io.Closer); ok {
		errs = append(errs, closer.Close())
	}
	if d.orm != nil {
		pool, err := d.orm.DB()
		if err == nil {
			err = pool.Close()
		}
		errs = append(errs, err)
	}
	d.service, d.orm = nil, nil
	return errors.Join(errs...)
}

// tidyUp has SQLite remove the files beside the database that are not needed
// any more, as it does whenever the last one who may write closes it. Nothing
// depends on it.
func (d *db) tidyUp() {
	if info, err := os.Stat(d.path + "-wal"); err != nil || info.Size() > 0 {
		return
	}
	uri, err := fileURI(d.path, "mode=rw&_pragma=query_only(1)")
	if err != nil {
		return
	}
	pool, err := sql.Open(sqlite.DriverName, uri)
	if err != nil {
		return
	}
	defer pool.Close()
	var tables int
	_ = pool.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables)
}

func removeDatabase(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// reason is err without the path, which the message has already.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
