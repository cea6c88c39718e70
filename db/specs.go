package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/canon"
)

// ErrSpecDiffers: another spec is stored under the same name and version.
var ErrSpecDiffers = errors.New("another spec is registered under the same name and version")

// SpecRef names a stored spec.
type SpecRef struct {
	Name, Version string
	Digest        canon.Digest
}

// SpecDocument is a stored spec with its document.
type SpecDocument struct {
	SpecRef
	Document []byte // JSON, as registered
}

// RegisterSpec stores a spec under its name and version. Registering the same again changes nothing, and does not make
// the version the newest. A version that stands for another digest is left as it is: ErrSpecDiffers, with the stored
// document as prior; with replace it stands for the new one from now on, for runs that start later, and prior is what it
// stood for. Other errors: ErrUnavailable, *DatabaseError.
func (s *Store) RegisterSpec(ctx context.Context, ref SpecRef, document []byte, replace bool) (prior []byte, err error) {
	err = s.transact(ctx, transactionTime+s.cfg.LockTimeout, func(ctx context.Context, conn *pgx.Conn) error {
		stored, err := s.insertSpec(ctx, conn, ref, document)
		if err != nil {
			return err
		}
		p := &pipeline{}
		if differs := string(stored.Digest) != string(ref.Digest[:]); differs {
			prior = stored.Document
			if !replace {
				return ErrSpecDiffers
			}
			p.exec(sqlc.ReplaceSpecVersion, sqlc.ReplaceSpecVersionParams{
				Digest: ref.Digest[:], Name: ref.Name, Version: ref.Version,
			})
		}
		p.commit()
		return p.send(ctx, conn)
	})
	return prior, translate(err)
}

// insertSpec stores what is new and returns what the version stands for now.
func (s *Store) insertSpec(ctx context.Context, conn *pgx.Conn, ref SpecRef, document []byte) (sqlc.SpecVersionRow, error) {
	p := &pipeline{}
	p.begin(s.cfg.LockTimeout)
	p.exec(sqlc.InsertSpec, sqlc.InsertSpecParams{Digest: ref.Digest[:], Document: document})
	p.exec(sqlc.InsertSpecVersion, sqlc.InsertSpecVersionParams{Name: ref.Name, Version: ref.Version, Digest: ref.Digest[:]})
	rows := queueRows[sqlc.SpecVersionRow](p, sqlc.SpecVersion, sqlc.SpecVersionParams{Name: ref.Name, Version: ref.Version})
	if err := p.send(ctx, conn); err != nil {
		return sqlc.SpecVersionRow{}, err
	}
	if len(*rows) == 0 {
		return sqlc.SpecVersionRow{}, ErrWorkflowNotFound
	}
	return (*rows)[0], nil
}

// SpecByDigest reads the document of a spec. Errors: ErrWorkflowNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) SpecByDigest(ctx context.Context, digest canon.Digest) ([]byte, error) {
	document, err := statements.SpecByDigest(ctx, s.pool, sqlc.SpecByDigestParams{Digest: digest[:]})
	return document, readError(err, ErrWorkflowNotFound)
}

// SpecVersion reads the spec that a name and version stand for; without a version, the one that was registered last.
// Errors: ErrWorkflowNotFound, ErrUnavailable, *DatabaseError.
func (s *Store) SpecVersion(ctx context.Context, name, version string) (SpecDocument, error) {
	if version != "" {
		row, err := statements.SpecVersion(ctx, s.pool, sqlc.SpecVersionParams{Name: name, Version: version})
		if err != nil {
			return SpecDocument{}, readError(err, ErrWorkflowNotFound)
		}
		return specDocument(row)
	}
	row, err := statements.LatestSpecVersion(ctx, s.pool, sqlc.LatestSpecVersionParams{Name: name})
	if err != nil {
		return SpecDocument{}, readError(err, ErrWorkflowNotFound)
	}
	return specDocument(sqlc.SpecVersionRow(row))
}

// ListSpecs reads every stored version, in order of name and then of registration. Errors: ErrUnavailable,
// *DatabaseError.
func (s *Store) ListSpecs(ctx context.Context) ([]SpecDocument, error) {
	rows, err := statements.ListSpecs(ctx, s.pool)
	if err != nil {
		return nil, readError(err, nil)
	}
	specs := make([]SpecDocument, len(rows))
	for i, row := range rows {
		if specs[i], err = specDocument(sqlc.SpecVersionRow(row)); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

func specDocument(row sqlc.SpecVersionRow) (SpecDocument, error) {
	digest, err := canon.FromBytes(row.Digest)
	if err != nil {
		return SpecDocument{}, err
	}
	return SpecDocument{SpecRef: SpecRef{Name: row.Name, Version: row.Version, Digest: digest}, Document: row.Document}, nil
}
