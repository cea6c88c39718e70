package client_test

import (
	"testing"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, db.Migrate) }
