package app_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/app"
)

// secretsFile writes a secrets file of http.post that others may read as mode says.
func secretsFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secrets.json")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRefusedStepSettings(t *testing.T) {
	t.Parallel()
	const file = "FLOWGATE_HTTP_POST_SECRETS_FILE"
	for name, tt := range map[string]struct{ setting, value, says string }{
		"a queue without number":    {"FLOWGATE_STEP_QUEUES", "mail", "entry 1 must be name=number"},
		"a queue of none":           {"FLOWGATE_STEP_QUEUES", "default=4,mail=0", "entry 2 must be name=number"},
		"a queue of too many":       {"FLOWGATE_STEP_QUEUES", "mail=10001", "1 to 10000"},
		"a queue without name":      {"FLOWGATE_STEP_QUEUES", "=4", "entry 1 has a name"},
		"a queue twice":             {"FLOWGATE_STEP_QUEUES", "mail=4, mail=5", "entry 2 names a queue"},
		"a lease in words":          {"FLOWGATE_STEP_LEASE", "long", "1s to 1h"},
		"a lease that is too short": {"FLOWGATE_STEP_LEASE", "10ms", "1s to 1h"},
		"no drain":                  {"FLOWGATE_STEP_DRAIN", "0s", "100ms to 10m"},
		"no grace":                  {"FLOWGATE_TARGET_GRACE", "-1m", "100ms to 24h"},
		"a host that is none":       {"FLOWGATE_HTTP_POST_HOSTS", "example.com, https://example.com", "entry 2 must name a host"},
		"an address in disguise":    {"FLOWGATE_HTTP_POST_HOSTS", "0x7f.1", "entry 1 must spell an address"},
		"perhaps named only":        {"FLOWGATE_HTTP_POST_NAMED_ONLY", "perhaps", "true or false"},
		"perhaps http":              {"FLOWGATE_HTTP_POST_ALLOW_HTTP", secretText, "true or false"},
		"port 0":                    {"FLOWGATE_HTTP_POST_PORTS", "443,0", "entry 2 must be a port"},
		"port 65536":                {"FLOWGATE_HTTP_POST_PORTS", "65536", "65535"},
		"a network with host bits":  {"FLOWGATE_HTTP_POST_INTERNAL_NETWORKS", "10.0.0.1/8", "host part zero"},
		"a network in another form": {"FLOWGATE_HTTP_POST_INTERNAL_NETWORKS", "::ffff:10.0.0.0/104", "entry 1 must be a CIDR"},
		"every host inside":         {"FLOWGATE_HTTP_POST_INTERNAL_HOSTS", "*", "entry 1 must name hosts"},
		"no time":                   {"FLOWGATE_HTTP_POST_TIMEOUT", "0s", "100ms to 10m"},
		"more time than the most":   {"FLOWGATE_HTTP_POST_TIMEOUT", "2m", "FLOWGATE_HTTP_POST_MAX_TIMEOUT"},
		"more than the limit":       {"FLOWGATE_HTTP_POST_MAX_TIMEOUT", "11m", "10m"},
		"too much captured":         {"FLOWGATE_HTTP_POST_CAPTURE_BYTES", "32769", "32768"},
		"fewer than no places":      {"FLOWGATE_HTTP_POST_CONCURRENCY", "-1", "0 to 10000"},
		"an agent with a line end":  {"FLOWGATE_HTTP_POST_USER_AGENT", "a\nb", "printable"},
		"a file that is not there":  {file, filepath.Join(t.TempDir(), "none"), "cannot be read"},
		"a folder":                  {file, t.TempDir(), "chmod 600"},
		"a file that others read":   {file, secretsFile(t, `{}`, 0o640), "chmod 600"},
		"a file that is no JSON":    {file, secretsFile(t, `{"credentials":`+secretText, 0o600), "JSON"},
		"an unknown member":         {file, secretsFile(t, `{"endpoint":{"a":{"url":"`+secretText+`"}}}`, 0o600), "endpoint is not a member"},
		"a number for a value":      {file, secretsFile(t, `{"credentials":{"a":{"value":1}}}`, 0o600), "credentials/value must be a string"},
		"an endpoint by http":       {file, secretsFile(t, `{"endpoints":{"a":{"url":"http://e.com/`+secretText+`"}}}`, 0o600), "endpoints/a/url"},
		"an endpoint that is none":  {file, secretsFile(t, `{"endpoints":{"a":{"url":"`+secretText+`"}}}`, 0o600), "endpoints/a/url"},
		"an unknown credential":     {file, secretsFile(t, `{"endpoints":{"a":{"url":"https://e.com","auth":"b"}}}`, 0o600), "endpoints/a/auth"},
		"a credential for all":      {file, secretsFile(t, `{"credentials":{"a":{"value":"`+secretText+`"}}}`, 0o600), "credentials/a/hosts"},
		"a short credential":        {file, secretsFile(t, `{"credentials":{"a":{"hosts":["e.com"],"value":"hunter2"}}}`, 0o600), "credentials/a/value"},
		"a secret that is no key":   {file, secretsFile(t, `{"signing":{"a":{"hosts":["e.com"],"secrets":["`+secretText+`"]}}}`, 0o600), "signing/a/secrets/0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, args := range [][]string{{"worker", "--examples"}, {"serve"}, {"dev", "--data-dir", t.TempDir()}} {
				env := nowhere()
				env[tt.setting] = tt.value
				_, stderr, err := runWith(t, env, args...)
				refused, ok := errors.AsType[*app.SettingError](err)
				if !ok || refused.Setting != tt.setting || !strings.Contains(refused.Rule, tt.says) {
					t.Errorf("%s: %v, want %s and …%s…", args[0], err, tt.setting, tt.says)
				}
				if err != nil && strings.Contains(stderr+err.Error(), "hunter2") {
					t.Errorf("%s: a secret was repeated: %v", args[0], err)
				}
			}
		})
	}
}

func TestAcceptedStepSettings(t *testing.T) {
	t.Parallel()
	file := secretsFile(t, `{"endpoints":{"a":{"url":"https://e.com/`+secretText+`"}}}`, 0o400)
	for name, set := range map[string]map[string]string{
		"queues":       {"FLOWGATE_STEP_QUEUES": "mail=8, http.post=2,", "FLOWGATE_STEP_LEASE": "1s", "FLOWGATE_STEP_DRAIN": "1m"},
		"no posts":     {"FLOWGATE_HTTP_POST_CONCURRENCY": "0", "FLOWGATE_HTTP_POST_HOSTS": "https://is.not.read"},
		"named only":   {"FLOWGATE_HTTP_POST_NAMED_ONLY": "yes", "FLOWGATE_HTTP_POST_ALLOW_HTTP": "0"},
		"a whole post": {"FLOWGATE_HTTP_POST_HOSTS": "*.e.com,e.com", "FLOWGATE_HTTP_POST_PORTS": "443, 8443", "FLOWGATE_HTTP_POST_INTERNAL_NETWORKS": "10.0.0.0/8,fd00::/8"},
		"a file":       {"FLOWGATE_HTTP_POST_SECRETS_FILE": file},
	} {
		env := nowhere()
		maps.Copy(env, set)
		args := []string{"worker", "--examples"}
		if name == "named only" {
			args = append(args, "--http-post-allow-http", "--http-post-named-only=false") // flags win
		}
		_, stderr, err := runWith(t, env, args...)
		if err == nil || !strings.Contains(err.Error(), "FLOWGATE_DATABASE_URL does not answer") {
			t.Errorf("%s: %v, want the error of the database", name, err)
		}
		if err != nil && strings.Contains(stderr+err.Error(), "hunter2") {
			t.Errorf("%s: a secret was repeated", name)
		}
	}
}
