// Package openapi writes the OpenAPI 3.1 description of routes whose bodies are Go types. Names of members are those of the
// types, so that the description cannot say others than the code.
package openapi
