package database

import (
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// The types below are there for AutoMigrate alone: they declare the tables so
// that GORM creates exactly what adk-go creates. Rows are read and written in
// SQL.

type table interface{ TableName() string }

var tables = []table{&storedSession{}, &storedEvent{}, &storedAppState{}, &storedUserState{}}

// columnsOfV2 are the columns of events that adk-go v1 does not have.
var columnsOfV2 = []string{"routes_json", "output_json", "node_info_json", "requested_input_json", "isolation_scope"}

type storedSession struct {
	AppName    string `gorm:"primaryKey"`
	UserID     string `gorm:"primaryKey"`
	ID         string `gorm:"primaryKey"`
	State      jsonText
	CreateTime time.Time     `gorm:"precision:6"`
	UpdateTime time.Time     `gorm:"precision:6"`
	Events     []storedEvent `gorm:"foreignKey:AppName,UserID,SessionID;references:AppName,UserID,ID;constraint:fk_sessions_events,OnDelete:CASCADE"`
}

func (*storedSession) TableName() string { return "sessions" }

type storedEvent struct {
	ID                     string `gorm:"primaryKey"`
	AppName                string `gorm:"primaryKey"`
	UserID                 string `gorm:"primaryKey"`
	SessionID              string `gorm:"primaryKey"`
	InvocationID           string
	Author                 string
	Actions                []byte
	LongRunningToolIDsJSON jsonText `gorm:"column:long_running_tool_ids_json"`
	RoutesJSON             jsonText `gorm:"column:routes_json"`
	OutputJSON             jsonText `gorm:"column:output_json"`
	NodeInfoJSON           jsonText `gorm:"column:node_info_json"`
	RequestedInputJSON     jsonText `gorm:"column:requested_input_json"`
	Branch                 *string
	IsolationScope         *string
	Timestamp              time.Time `gorm:"precision:6"`
	Content                jsonText
	GroundingMetadata      jsonText
	CustomMetadata         jsonText
	UsageMetadata          jsonText
	CitationMetadata       jsonText
	Partial                *bool
	TurnComplete           *bool
	ErrorCode              *string
	ErrorMessage           *string
	Interrupted            *bool
}

func (*storedEvent) TableName() string { return "events" }

type storedAppState struct {
	AppName    string `gorm:"primaryKey"`
	State      jsonText
	UpdateTime time.Time `gorm:"precision:6"`
}

func (*storedAppState) TableName() string { return "app_states" }

type storedUserState struct {
	AppName    string `gorm:"primaryKey"`
	UserID     string `gorm:"primaryKey"`
	State      jsonText
	UpdateTime time.Time `gorm:"precision:6"`
}

func (*storedUserState) TableName() string { return "user_states" }

// jsonText is a column of JSON.
type jsonText string

// GormDBDataType is the type of the column.
func (jsonText) GormDBDataType(orm *gorm.DB, _ *schema.Field) string {
	switch orm.Dialector.Name() {
	case "postgres":
		return "JSONB"
	case "mysql":
		return "LONGTEXT"
	}
	return "text"
}

// migrate creates the table or adds its missing columns. GORM's own AutoMigrate
// also changes columns whose type differs, for which SQLite must rewrite the
// whole table; what adk-go created needs no such change.
func migrate(orm *gorm.DB, table table) error {
	migrator := orm.Migrator()
	if !migrator.HasTable(table) {
		return migrator.CreateTable(table)
	}
	if _, ok := table.(*storedEvent); !ok {
		return nil
	}
	for _, column := range columnsOfV2 {
		if migrator.HasColumn(table, column) {
			continue
		}
		if err := migrator.AddColumn(table, column); err != nil {
			return err
		}
	}
	return nil
}
