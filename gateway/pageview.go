package gateway

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/gateway/internal/page"
)

// The states of a hook that waits for its answer, and of one that has it.
const (
	hookOpen     = "active"
	hookAnswered = "resumed"
)

// pageView is a page as it is drawn, with a form where its recipient may decide.
func (g *Gateway) pageView(p engine.ApprovalPage, token string, said *pageNotice) page.Page {
	drawn := page.Page{Ask: askOf(p), End: endOf(p)}
	if said != nil {
		drawn.Notice = &page.Notice{Title: said.title, Text: said.text, Bad: true}
	}
	switch {
	case p.Hook.State != hookOpen:
	case p.SelfAsked:
		if drawn.Notice == nil {
			drawn.Notice = &page.Notice{Title: "You asked for this", Text: "Who asks does not decide. Nobody has decided yet."}
		}
	default:
		drawn.Form = &page.Form{Nonce: g.engine.NewPageForm(token, p.Shown, "")}
	}
	return drawn
}

func askOf(p engine.ApprovalPage) *page.Ask {
	h := p.Hook
	ask := &page.Ask{
		Subject: h.Subject, Description: p.Description, Requester: h.Requester, Recipient: p.Recipient, Deadline: h.ExpiresAt,
		Now: p.ReadAt, Run: string(h.RunID), Hook: string(h.HookID),
	}
	if ask.Subject == "" {
		ask.Subject = h.Name
	}
	if h.Rule != nil {
		ask.Rule = h.Rule.String()
	}
	for _, name := range slices.Sorted(maps.Keys(h.Data)) {
		ask.Facts = append(ask.Facts, factOf(name, h.Data[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(h.Labels)) {
		ask.Labels = append(ask.Labels, page.Fact{Name: name, Value: h.Labels[name]})
	}
	return ask
}

func factOf(name string, value any) page.Fact {
	switch v := value.(type) {
	case string:
		return page.Fact{Name: name, Value: v}
	case json.Number: // with every digit
		return page.Fact{Name: name, Value: v.String()}
	case bool:
		return page.Fact{Name: name, Value: map[bool]string{true: "yes", false: "no"}[v]}
	case nil:
		return page.Fact{Name: name, Value: "–"}
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(value) != nil { // it was JSON when it was stored
		return page.Fact{Name: name}
	}
	return page.Fact{Name: name, Value: strings.TrimSuffix(text.String(), "\n"), Many: true}
}

// endOf says how the question of a page ended; nil while it is open.
func endOf(p engine.ApprovalPage) *page.End {
	end := &page.End{At: p.Hook.ResolvedAt, Text: "Nothing is asked for any more."}
	switch p.Hook.State {
	case hookOpen:
		return nil
	case hookAnswered:
		return decisionOf(p)
	case "expired":
		end.Title, end.Text, end.At = "Not decided in time", "The deadline has passed", p.Hook.ExpiresAt
	case "disposed":
		end.Title, end.Text = "Withdrawn", "It was withdrawn before anybody decided"
	case "cancelled":
		end.Title, end.Text = "Cancelled", "The run was cancelled before anybody decided"
	default:
		end.Title, end.Text = "Closed", "The run ended before anybody decided"
	}
	return end
}

func decisionOf(p engine.ApprovalPage) *page.End {
	end := &page.End{Title: "Answered", Text: "It was decided"}
	d := p.Decision
	if d == nil {
		return end
	}
	end.At = &d.At
	if d.Approved != nil {
		end.Good, end.Bad = *d.Approved, !*d.Approved
		end.Title = map[bool]string{true: "Approved", false: "Rejected"}[*d.Approved]
	}
	if d.Own || !p.HidesDecider {
		end.Own, end.By, end.Comment = d.Own, d.By, d.Comment
	}
	return end
}
