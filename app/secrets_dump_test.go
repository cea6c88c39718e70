package app_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// dump keeps the whole database: column by column, as a dump of it, and as the files of the server, its log and its
// write-ahead log among them.
func (v *vault) dump() {
	v.t.Helper()
	v.dumpColumns()
	v.dumpFiles()
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		v.t.Log("no pg_dump here: the columns and the files have to do")
		return
	}
	dumped, err := exec.CommandContext(v.t.Context(), program, "--inserts", v.server.URL()).Output()
	if err != nil {
		v.t.Fatalf("pg_dump: %v", err)
	}
	v.keep("pg_dump", string(dumped), accepted, authored)
}

// payloadColumns are the only places where payloads, and what workflow code says on purpose, are kept.
var payloadColumns = map[string][]class{
	"public.events.payload":       {accepted},
	"public.events.data":          {authored},
	"public.runs.block_diagnosis": {authored},
}

func (v *vault) dumpColumns() {
	v.t.Helper()
	rows, err := v.conn.Query(v.t.Context(), `select format('%I.%I', table_schema, table_name), column_name, data_type
		from information_schema.columns join information_schema.tables using (table_schema, table_name)
		where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`)
	if err != nil {
		v.t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Table, Name, Type string }])
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range columns {
		name := pgx.Identifier{c.Name}.Sanitize()
		expression := name + "::text"
		if c.Type == "bytea" { // as bytes, and as they are shown
			expression = "encode(" + name + ", 'escape') || ' ' || encode(" + name + ", 'hex')"
		}
		rows, err := v.conn.Query(v.t.Context(), "select coalesce("+expression+", '') from "+c.Table)
		if err != nil {
			v.t.Fatal(err)
		}
		values, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			v.t.Fatal(err)
		}
		store := "columns without payloads"
		may, isPayload := payloadColumns[c.Table+"."+c.Name]
		if isPayload {
			store = "column " + c.Table + "." + c.Name
		}
		for _, value := range values {
			v.keep(store, value, may...)
		}
	}
}

func (v *vault) dumpFiles() {
	v.t.Helper()
	v.sql("checkpoint")
	err := filepath.WalkDir(v.server.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		store := "files of the database"
		if strings.HasPrefix(filepath.Base(path), "postgres.log") {
			store = "log of the database"
		}
		v.keep(store, string(content), accepted, authored)
		return nil
	})
	if err != nil {
		v.t.Fatal(err)
	}
}
