// Package schema checks payloads against the JSON Schemas that a workflow spec
// declares for its input, its signals and its hooks.
//
// It owns three promises that a schema library alone does not give. A schema
// refers to nothing outside itself, so compiling one reads no file and no
// network. Its cost per value is bounded when it is compiled, so a payload
// cannot stall the process through references, alternatives or patterns. And a
// violation is told in the schema's words only: no message holds a value or an
// undeclared name of the payload.
//
// The dialect is draft 2020-12 unless the schema names another one; formats are
// asserted. $dynamicRef and $recursiveRef are refused. The package is pure and
// knows nothing of runs, hooks or HTTP.
package schema
