package client

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strconv"

	"github.com/flowgate-go/flowgate/spec"
)

// Page is a page of a list, the newest first. NextCursor is empty on the last one.
type Page[T any] struct {
	Answer
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// each goes through a list page by page, from where the first one begins, until the list ends, a page fails or the caller has
// enough. What is created meanwhile may be missing; nothing comes twice.
func each[T any](page func(cursor string) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor, more := "", true; more; {
			p, err := page(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.NextCursor != "" && p.NextCursor == cursor {
				var none T
				yield(none, errors.New("the list does not get on"))
				return
			}
			cursor, more = p.NextCursor, p.NextCursor != ""
		}
	}
}

// list reads a page.
func list[T any](ctx context.Context, c *Client, at string, q parameters) (Page[T], error) {
	var p Page[T]
	return p, c.do(ctx, request{method: "GET", path: at, query: url.Values(q)}, &p)
}

// parameters are those of a list.
type parameters url.Values

// with adds a parameter that is not empty.
func (p parameters) with(name, value string) parameters {
	if value != "" {
		url.Values(p).Set(name, value)
	}
	return p
}

func (p parameters) labels(all spec.Labels) parameters {
	for key, value := range all {
		url.Values(p).Add("label", key+"="+value)
	}
	return p
}

func (p parameters) page(cursor string, limit int) parameters {
	if limit > 0 {
		p.with("limit", strconv.Itoa(limit))
	}
	return p.with("cursor", cursor)
}
