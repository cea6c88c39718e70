// Package server is the private, durable PostgreSQL that everything is measured on: its databases, and what it says and
// the system says about what it did. It knows no schema.
package server
