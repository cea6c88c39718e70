package db

import (
	"testing"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, Migrate) }
