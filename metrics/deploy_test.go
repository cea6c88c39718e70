package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/flowgate-go/flowgate/metrics"
)

// rule is an alert as Prometheus reads it.
type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      struct{ Severity string }
	Annotations struct{ Summary, Runbook string }
}

func alerts(t *testing.T) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(read(t, "../deploy/prometheus/alerts.yml"), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 20 {
		t.Fatalf("%d alerts were read", len(all))
	}
	return all
}

// panels are the titles of the dashboard with their expressions.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "../deploy/grafana/flowgate.json"), &board); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], target.Expr)
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d panels were read", len(all))
	}
	return all
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

var (
	selector = regexp.MustCompile(`\b(flowgate_\w+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`)
	part     = regexp.MustCompile(`_(bucket|sum|count)$`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// exported are the values of labels, by series and label, that a process shows; nil for a series that it does not have.
type exported map[string]map[string][]string

func (now scrape) exported() exported {
	all := exported{}
	for series := range now {
		name, _, _ := strings.Cut(series, "{")
		if all[name] == nil {
			all[name] = map[string][]string{}
		}
		for _, m := range labelPair.FindAllStringSubmatch(series, -1) {
			all[name][m[1]] = append(all[name][m[1]], m[2])
		}
	}
	return all
}

// check finds what an expression names that is not exported. Of what only happens later, values are not known.
func (e exported) check(expr string) (faults []string) {
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		name := m[1]
		labels, ok := metrics.Labelled()[name]
		if !ok {
			histogram := part.ReplaceAllString(name, "")
			if labels, ok = metrics.Labelled()[histogram]; !ok || histogram == name || e[name] == nil {
				faults = append(faults, "no series "+name)
				continue
			}
			labels = append(slices.Clone(labels), "le")
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, l[1]) {
				faults = append(faults, name+" has no label "+l[1])
			}
			for value := range strings.SplitSeq(l[3], "|") {
				if known := e[name][l[1]]; known != nil && l[1] != "code" && !slices.Contains(known, value) {
					faults = append(faults, name+" never has "+l[1]+"="+value)
				}
			}
		}
		for _, by := range grouping.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(by[1], ", ") {
				if !slices.Contains(labels, label) {
					faults = append(faults, name+" has no label "+label)
				}
			}
		}
	}
	return faults
}

// What alerts and the dashboard name is exported, with these labels and, where the set of values is fixed, these values.
func TestAlertsAndDashboardNameWhatIsExported(t *testing.T) {
	t.Parallel()
	now := newSite(t).scrape().exported()
	for _, r := range alerts(t) {
		for _, fault := range now.check(r.Expr) {
			t.Errorf("%s: %s", r.Alert, fault)
		}
		if !strings.Contains(r.Expr, "flowgate") {
			t.Errorf("%s looks at nothing of ours: %s", r.Alert, r.Expr)
		}
		if r.Labels.Severity != "page" && r.Labels.Severity != "ticket" || r.Annotations.Summary == "" {
			t.Errorf("%s is incomplete: %+v", r.Alert, r)
		}
	}
	for title, exprs := range panels(t) {
		for _, expr := range exprs {
			for _, fault := range now.check(expr) {
				t.Errorf("panel %s: %s", title, fault)
			}
		}
	}
	for expr, faults := range map[string]int{ // the check finds what it is for
		`rate(flowgate_nothing_total[5m])`:                           1,
		`flowgate_receipts_total_bucket`:                             1,
		`flowgate_receipts_total{verdict="maybe"}`:                   1,
		`flowgate_receipts_total{word="x",verdict=~"gone|busy|so"}`:  2,
		`sum by (le, kind) (rate(flowgate_turn_seconds_bucket[5m]))`: 1,
		`flowgate_runs_due_oldest_age_seconds > 60`:                  0,
	} {
		if found := now.check(expr); len(found) != faults {
			t.Errorf("%s: found %q", expr, found)
		}
	}
}

// An alert on the first event of a kind needs the series before it: a counter that appears at 1 has not increased.
func TestFaultsAreCountedBeforeTheFirstOne(t *testing.T) {
	t.Parallel()
	now := newSite(t).scrape()
	const series = `flowgate_http_requests_total{code="500",method="POST",route="/callbacks/flow/hooks/{token}"}`
	if n, ok := now[series]; !ok || n != 0 {
		t.Errorf("%s is %v, %v before anything happened", series, n, ok)
	}
}

// The figures of the database are the same from every process: a sum of them counts each thing once for each process.
func TestFiguresOfTheDatabaseAreNotSummed(t *testing.T) {
	t.Parallel()
	shared := regexp.MustCompile(
		`sum[^()]*(\([^()]*\) *)?\(flowgate_(hook|runs|signals_unread|dead_letters|inbox_messages|metrics_database|database_clock)`)
	for _, r := range alerts(t) {
		if shared.MatchString(r.Expr) {
			t.Errorf("%s: %s", r.Alert, r.Expr)
		}
	}
	for title, exprs := range panels(t) {
		if shared.MatchString(strings.Join(exprs, "\n")) {
			t.Errorf("panel %s: %s", title, exprs)
		}
	}
}

// Who is woken finds the alert in the docs, as it is; and every series is explained there.
func TestDocsKnowEveryAlertAndSeries(t *testing.T) {
	t.Parallel()
	const page = "docs/operations.md"
	text := string(read(t, "../"+page))
	for _, r := range alerts(t) {
		heading := "\n### " + r.Alert + "\n"
		_, section, found := strings.Cut(text, heading)
		section, _, _ = strings.Cut(section, "\n### ")
		if !found || !strings.Contains(section, "```promql\n"+r.Expr+"\n```") || !strings.Contains(section, "**Do:** ") {
			t.Errorf("%s of %s is not explained, or another one is", r.Alert, page)
		}
		if want := page + "#" + strings.ToLower(r.Alert); r.Annotations.Runbook != want {
			t.Errorf("%s leads to %s", r.Alert, r.Annotations.Runbook)
		}
	}
	if headings := strings.Count(text, "\n### Flowgate"); headings != len(alerts(t)) {
		t.Errorf("%d alerts are explained, %d are there", headings, len(alerts(t)))
	}
	for name, labels := range metrics.Labelled() {
		if row := "\n| `" + name + "` | " + strings.Join(labels, ", "); !strings.Contains(text, row) {
			t.Errorf("%s is not explained: %q", name, row)
		}
	}
	for _, m := range regexp.MustCompile("`(flowgate_\\w+)`").FindAllStringSubmatch(text, -1) {
		if _, ok := metrics.Labelled()[m[1]]; !ok {
			t.Errorf("%s is explained and not there", m[1])
		}
	}
}
