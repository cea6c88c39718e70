package app_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/examples/workflows"
)

// secretText must never be repeated; it is what misconfigured settings hold in these tests.
const secretText = "hunter2-hunter2-hunter2-hunter2-hunter2"

func key(id string, size int) string {
	return id + ":" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, size))
}

// nowhere is a complete set of settings for a database that nobody serves.
func nowhere() map[string]string {
	return map[string]string{
		"FLOWGATE_DATABASE_URL": "postgres://flowgate:" + secretText + "@127.0.0.1:1/flowgate?sslmode=disable",
		"FLOWGATE_PUBLIC_URL":   "https://gate.example.com",
		"FLOWGATE_MINT_KEYS":    key("m1", 32),
		"FLOWGATE_DIGEST_KEYS":  key("d1", 32) + "," + key("d0", 40),
		"FLOWGATE_SIGN_KEYS":    key("s1", 32),
		"FLOWGATE_LOG_FORMAT":   "json",
		"FLOWGATE_LISTEN":       "127.0.0.1:0",
		"FLOWGATE_ADMIN_LISTEN": "127.0.0.1:0",
	}
}

// runWith runs a command of the program with the example workflows.
func runWith(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	getenv := func(name string) string { return env[name] }
	err = app.Run(t.Context(), args, getenv, &out, &log, app.Examples(workflows.Each)...)
	return out.String(), log.String(), err
}

func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte(`{"issuers":[{"issuer":"`+secretText+`","secret":1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := []string{"serve"}
	for name, tt := range map[string]struct {
		args  []string
		set   map[string]string // over nowhere; an empty value unsets
		names string            // what the refusal names
		says  string            // the fix
	}{
		"no database":                {serve, map[string]string{"FLOWGATE_DATABASE_URL": ""}, "FLOWGATE_DATABASE_URL", "flowgate dev"},
		"no database for worker":     {[]string{"worker", "--examples"}, map[string]string{"FLOWGATE_DATABASE_URL": ""}, "FLOWGATE_DATABASE_URL", "postgres://"},
		"no database to migrate":     {[]string{"migrate"}, map[string]string{"FLOWGATE_DATABASE_URL": ""}, "FLOWGATE_DATABASE_URL", "postgres://"},
		"database is no URL":         {serve, map[string]string{"FLOWGATE_DATABASE_URL": "postgres://u:" + secretText + "%@h"}, "FLOWGATE_DATABASE_URL", "percent-encoded"},
		"no public URL":              {serve, map[string]string{"FLOWGATE_PUBLIC_URL": ""}, "FLOWGATE_PUBLIC_URL", "https://"},
		"no public URL for worker":   {[]string{"worker", "--examples"}, map[string]string{"FLOWGATE_PUBLIC_URL": ""}, "FLOWGATE_PUBLIC_URL", "https://"},
		"public URL without host":    {serve, map[string]string{"FLOWGATE_PUBLIC_URL": "gate.example.com"}, "FLOWGATE_PUBLIC_URL", "https://"},
		"public URL with password":   {serve, map[string]string{"FLOWGATE_PUBLIC_URL": "https://u:" + secretText + "@h"}, "FLOWGATE_PUBLIC_URL", "without user"},
		"no mint keys":               {serve, map[string]string{"FLOWGATE_MINT_KEYS": ""}, "FLOWGATE_MINT_KEYS", "openssl rand"},
		"no digest keys":             {serve, map[string]string{"FLOWGATE_DIGEST_KEYS": ""}, "FLOWGATE_DIGEST_KEYS", "openssl rand"},
		"short mint key":             {serve, map[string]string{"FLOWGATE_MINT_KEYS": key("m1", 31)}, "FLOWGATE_MINT_KEYS", "32 bytes"},
		"short digest key":           {serve, map[string]string{"FLOWGATE_DIGEST_KEYS": key("d1", 32) + "," + key("d2", 8)}, "FLOWGATE_DIGEST_KEYS", "key 2"},
		"a key ID twice":             {serve, map[string]string{"FLOWGATE_MINT_KEYS": key("m1", 32) + "," + key("m1", 33)}, "FLOWGATE_MINT_KEYS", "twice"},
		"a key without ID":           {serve, map[string]string{"FLOWGATE_MINT_KEYS": secretText}, "FLOWGATE_MINT_KEYS", "id:base64"},
		"a key that is not base64":   {serve, map[string]string{"FLOWGATE_MINT_KEYS": "m1:" + secretText + "!"}, "FLOWGATE_MINT_KEYS", "id:base64"},
		"parts of a key swapped":     {serve, map[string]string{"FLOWGATE_MINT_KEYS": secretText + "+/:abcd"}, "FLOWGATE_MINT_KEYS", "key 1"},
		"keys and a file of keys":    {serve, map[string]string{"FLOWGATE_MINT_KEYS_FILE": empty}, "FLOWGATE_MINT_KEYS", "keep one"},
		"a key file that is empty":   {serve, map[string]string{"FLOWGATE_MINT_KEYS": "", "FLOWGATE_MINT_KEYS_FILE": empty}, "FLOWGATE_MINT_KEYS_FILE", "no key"},
		"a key file that is not":     {serve, map[string]string{"FLOWGATE_DIGEST_KEYS": "", "FLOWGATE_DIGEST_KEYS_FILE": missing}, "FLOWGATE_DIGEST_KEYS_FILE", "cannot be read"},
		"no sign keys":               {serve, map[string]string{"FLOWGATE_SIGN_KEYS": ""}, "FLOWGATE_SIGN_KEYS", "openssl rand"},
		"no sign keys, open API":     {[]string{"serve", "--open-api"}, map[string]string{"FLOWGATE_SIGN_KEYS": ""}, "FLOWGATE_SIGN_KEYS", "openssl rand"},
		"a sign key that is no seed": {serve, map[string]string{"FLOWGATE_SIGN_KEYS": key("s1", 33)}, "FLOWGATE_SIGN_KEYS", "exactly 32"},
		"a sign key ID twice":        {serve, map[string]string{"FLOWGATE_SIGN_KEYS": key("s1", 32) + "," + key("s1", 32)}, "FLOWGATE_SIGN_KEYS", "twice"},
		"a bad sign key in dev":      {[]string{"dev"}, map[string]string{"FLOWGATE_SIGN_KEYS": secretText}, "FLOWGATE_SIGN_KEYS", "id:base64"},
		"no file of issuers":         {serve, map[string]string{"FLOWGATE_ISSUERS_FILE": missing}, "FLOWGATE_ISSUERS_FILE", "cannot be read"},
		"issuers that are none":      {serve, map[string]string{"FLOWGATE_ISSUERS_FILE": empty}, "FLOWGATE_ISSUERS_FILE", "JSON object"},
		"an issuer with a mistake":   {serve, map[string]string{"FLOWGATE_ISSUERS_FILE": wrong}, "FLOWGATE_ISSUERS_FILE", "unknown member \"secret\""},
		"keys without a database":    {[]string{"apikey", "list"}, map[string]string{"FLOWGATE_DATABASE_URL": ""}, "FLOWGATE_DATABASE_URL", "postgres://"},
		"a key without digest keys":  {[]string{"apikey", "create", "--namespace=n", "--name=n", "--scope=runs:read"}, map[string]string{"FLOWGATE_DIGEST_KEYS": ""}, "FLOWGATE_DIGEST_KEYS", "openssl rand"},
		"only one set in dev":        {[]string{"dev"}, map[string]string{"FLOWGATE_DIGEST_KEYS": ""}, "FLOWGATE_DIGEST_KEYS", "not set"},
		"listen without port":        {serve, map[string]string{"FLOWGATE_LISTEN": "127.0.0.1"}, "FLOWGATE_LISTEN", "host:port"},
		"listen on a bad port":       {serve, map[string]string{"FLOWGATE_LISTEN": "127.0.0.1:70000"}, "FLOWGATE_LISTEN", "65535"},
		"admin without port":         {serve, map[string]string{"FLOWGATE_ADMIN_LISTEN": "9090"}, "FLOWGATE_ADMIN_LISTEN", "host:port"},
		"admin of a worker":          {[]string{"worker", "--examples"}, map[string]string{"FLOWGATE_ADMIN_LISTEN": "9090"}, "FLOWGATE_ADMIN_LISTEN", "host:port"},
		"one port for both":          {serve, map[string]string{"FLOWGATE_LISTEN": "127.0.0.1:9000", "FLOWGATE_ADMIN_LISTEN": "10.0.0.1:9000"}, "FLOWGATE_ADMIN_LISTEN", "FLOWGATE_LISTEN"},
		"a proxy that is no network": {serve, map[string]string{"FLOWGATE_TRUSTED_PROXIES": "10.0.0.0/8,proxy"}, "FLOWGATE_TRUSTED_PROXIES", "CIDR"},
		"a proxy with host bits":     {serve, map[string]string{"FLOWGATE_TRUSTED_PROXIES": "10.0.0.1/8"}, "FLOWGATE_TRUSTED_PROXIES", "host part"},
		"few connections":            {serve, map[string]string{"FLOWGATE_DATABASE_CONNECTIONS": "3"}, "FLOWGATE_DATABASE_CONNECTIONS", "from 8"},
		"connections in words":       {serve, map[string]string{"FLOWGATE_DATABASE_CONNECTIONS": "many"}, "FLOWGATE_DATABASE_CONNECTIONS", "whole number"},
		"log level":                  {serve, map[string]string{"FLOWGATE_LOG_LEVEL": "loud"}, "FLOWGATE_LOG_LEVEL", "debug"},
		"log format":                 {serve, map[string]string{"FLOWGATE_LOG_FORMAT": "xml"}, "FLOWGATE_LOG_FORMAT", "console"},
		"open API to the world":      {[]string{"serve", "--open-api"}, map[string]string{"FLOWGATE_LISTEN": "0.0.0.0:0"}, "--open-api", "loopback"},
		"open API by a name":         {[]string{"serve", "--open-api"}, map[string]string{"FLOWGATE_LISTEN": "example.com:0"}, "--open-api", "loopback"},
		"open API everywhere":        {[]string{"serve", "--open-api", "--listen=:0"}, nil, "--open-api", "loopback"},
		"dev to the world":           {[]string{"dev"}, map[string]string{"FLOWGATE_LISTEN": "0.0.0.0:0"}, "FLOWGATE_LISTEN", "loopback"},
		"dev everywhere":             {[]string{"dev", "--listen", "[::]:0"}, nil, "FLOWGATE_LISTEN", "loopback"},
		"dev's admin to the world":   {[]string{"dev", "--admin-listen", "0.0.0.0:0"}, nil, "FLOWGATE_ADMIN_LISTEN", "loopback"},
		"a gateway that is no URL":   {[]string{"run", "retry", "r1"}, map[string]string{"FLOWGATE_URL": "localhost"}, "FLOWGATE_URL", "http"},
		"connections of an address":  {serve, map[string]string{"FLOWGATE_LIMIT_CONNECTIONS": "0"}, "FLOWGATE_LIMIT_CONNECTIONS", "from 1"},
		"in flight in words":         {serve, map[string]string{"FLOWGATE_LIMIT_IN_FLIGHT": "many"}, "FLOWGATE_LIMIT_IN_FLIGHT", "whole number"},
		"a share over all":           {serve, map[string]string{"FLOWGATE_LIMIT_NAMESPACE_SHARE": "101"}, "FLOWGATE_LIMIT_NAMESPACE_SHARE", "100"},
		"a wait without unit":        {serve, map[string]string{"FLOWGATE_LIMIT_ACCEPT_WAIT": "1"}, "FLOWGATE_LIMIT_ACCEPT_WAIT", "duration"},
		"a rate without burst":       {serve, map[string]string{"FLOWGATE_LIMIT_FAILURES": "1/s"}, "FLOWGATE_LIMIT_FAILURES", "10/s:100"},
		"a rate of nothing":          {serve, map[string]string{"FLOWGATE_LIMIT_HOOK": "0/s:1"}, "FLOWGATE_LIMIT_HOOK", "0.001"},
		"a rate that is no number":   {serve, map[string]string{"FLOWGATE_LIMIT_LOOKUPS": "NaN/s:1"}, "FLOWGATE_LIMIT_LOOKUPS", "NUMBER/s"},
		"an endless rate":            {serve, map[string]string{"FLOWGATE_LIMIT_SUSPECT_LOOKUPS": "Inf/s:1"}, "FLOWGATE_LIMIT_SUSPECT_LOOKUPS", "off"},
		"a rate by the day":          {serve, map[string]string{"FLOWGATE_LIMIT_PRINCIPAL": "1/d:1"}, "FLOWGATE_LIMIT_PRINCIPAL", "/h"},
		"a burst of nothing":         {serve, map[string]string{"FLOWGATE_LIMIT_SOURCE": "1/s:0"}, "FLOWGATE_LIMIT_SOURCE", "bursts from 1"},
		"a huge burst":               {serve, map[string]string{"FLOWGATE_LIMIT_REQUESTS": "1/s:99999999999999999999"}, "FLOWGATE_LIMIT_REQUESTS", "1000000"},
		"a negative rate":            {serve, map[string]string{"FLOWGATE_LIMIT_NAMESPACE": "-1/s:1"}, "FLOWGATE_LIMIT_NAMESPACE", "0.001"},
		"a quota without Redis":      {serve, map[string]string{"FLOWGATE_QUOTA_NAMESPACE": "1/s:1"}, "FLOWGATE_QUOTA_REDIS_URL", "not set"},
		"a Redis without quota":      {serve, map[string]string{"FLOWGATE_QUOTA_REDIS_URL": "redis://h:1"}, "FLOWGATE_QUOTA_NAMESPACE", "100/s:200"},
		"a quota that is off":        {serve, map[string]string{"FLOWGATE_QUOTA_REDIS_URL": "redis://h:1", "FLOWGATE_QUOTA_NAMESPACE": "off"}, "FLOWGATE_QUOTA_NAMESPACE", "unset"},
		"a Redis that is no URL":     {serve, map[string]string{"FLOWGATE_QUOTA_REDIS_URL": "redis://u:" + secretText + "@h:x", "FLOWGATE_QUOTA_NAMESPACE": "1/s:1"}, "FLOWGATE_QUOTA_REDIS_URL", "redis://"},
		"the flag wins":              {[]string{"serve", "--log-level=loud"}, map[string]string{"FLOWGATE_LOG_LEVEL": "info"}, "FLOWGATE_LOG_LEVEL (--log-level)", "debug"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := nowhere()
			maps.Copy(env, tt.set)
			stdout, stderr, err := runWith(t, env, tt.args...)
			if _, ok := errors.AsType[*app.SettingError](err); !ok {
				t.Fatalf("error %v, want a *SettingError", err)
			}
			if text := err.Error(); !strings.HasPrefix(text, tt.names) || !strings.Contains(text, tt.says) {
				t.Errorf("refusal %q, want it to begin with %q and to hold %q", text, tt.names, tt.says)
			}
			if code := app.ExitCode(err); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if all := stdout + stderr + err.Error(); strings.Contains(all, "hunter2") {
				t.Errorf("a secret was repeated in %q", all)
			}
		})
	}
}

// Good settings are not refused: what fails is the database that is not there, and its password stays unsaid.
func TestAcceptedSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(key("m1", 32)+"\n"+key("m0", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	urlSafe := "u1:" + base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xfb, 0xff}, 17))
	for name, tt := range map[string]struct {
		args []string
		set  map[string]string
	}{
		"serve":                   {[]string{"serve"}, nil},
		"worker":                  {[]string{"worker", "--examples"}, nil},
		"open API on loopback":    {[]string{"serve", "--open-api", "--listen=[::1]:0"}, nil},
		"closed API to the world": {[]string{"serve", "--listen=:0"}, nil},
		"proxies":                 {[]string{"serve"}, map[string]string{"FLOWGATE_TRUSTED_PROXIES": "10.0.0.0/8, fd00::/8"}},
		"a key file":              {[]string{"serve"}, map[string]string{"FLOWGATE_MINT_KEYS": "", "FLOWGATE_MINT_KEYS_FILE": file}},
		"keys in base64url":       {[]string{"serve"}, map[string]string{"FLOWGATE_MINT_KEYS": urlSafe}},
		"limits":                  {[]string{"serve", "--limit-hook=0.5/m:1", "--limit-failures=off"}, map[string]string{"FLOWGATE_LIMIT_NAMESPACE": "100/h:50"}},
		"a quota":                 {[]string{"serve"}, map[string]string{"FLOWGATE_QUOTA_REDIS_URL": "rediss://u:" + secretText + "@h:6379/1", "FLOWGATE_QUOTA_NAMESPACE": "100/s:200"}},
		"the flag wins":           {[]string{"serve", "--log-level=warn"}, map[string]string{"FLOWGATE_LOG_LEVEL": "loud"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := nowhere()
			maps.Copy(env, tt.set)
			_, stderr, err := runWith(t, env, tt.args...)
			if err == nil || !strings.Contains(err.Error(), "FLOWGATE_DATABASE_URL does not answer") {
				t.Errorf("error %v, want the one of the database", err)
			}
			if app.ExitCode(err) != 1 {
				t.Errorf("exit code %d, want 1", app.ExitCode(err))
			}
			if all := stderr + err.Error(); strings.Contains(all, "hunter2") {
				t.Errorf("the password was repeated in %q", all)
			}
		})
	}
}

func TestRefusedCommandLines(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"none":                 {},
		"an unknown command":   {"fly"},
		"an unknown flag":      {"serve", "--fly"},
		"an extra argument":    {"serve", secretText},
		"no run":               {"run", "retry"},
		"a run that is no ID":  {"run", "retry", " r1"},
		"a worker without any": {"worker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := runWith(t, nowhere(), args...)
			if _, ok := errors.AsType[*app.UsageError](err); !ok {
				t.Fatalf("error %v, want a *UsageError", err)
			}
			if app.ExitCode(err) != 2 {
				t.Errorf("exit code %d, want 2", app.ExitCode(err))
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("an argument was repeated: %v", err)
			}
		})
	}
}

// A host without workflows has nothing for dev and worker to do, and no examples to be pointed at.
func TestProgramWithoutWorkflows(t *testing.T) {
	t.Parallel()
	env := nowhere()
	for _, command := range []string{"dev", "worker"} {
		var out, log bytes.Buffer
		err := app.Run(t.Context(), []string{command}, func(n string) string { return env[n] }, &out, &log)
		if err == nil || !strings.Contains(err.Error(), "no workflows") || strings.Contains(err.Error(), "--examples") {
			t.Errorf("%s: error %v, want the want of workflows", command, err)
		}
	}
}

// Help and the code must know the same settings.
func TestHelpConfig(t *testing.T) {
	t.Parallel()
	stdout, _, err := runWith(t, nil, "help", "config")
	if err != nil {
		t.Fatal(err)
	}
	for setting, says := range map[string]string{
		"FLOWGATE_DATABASE_URL": "none; dev", "FLOWGATE_DATABASE_CONNECTIONS": "16", "FLOWGATE_LISTEN": "127.0.0.1:8080",
		"FLOWGATE_ADMIN_LISTEN": "127.0.0.1:9090", "FLOWGATE_PUBLIC_URL": "none", "FLOWGATE_DATA_DIR": "/var/lib/flowgate",
		"FLOWGATE_LOG_LEVEL": "info", "FLOWGATE_LOG_FORMAT": "auto", "FLOWGATE_MINT_KEYS": "none", "FLOWGATE_MINT_KEYS_FILE": "none",
		"FLOWGATE_DIGEST_KEYS": "none", "FLOWGATE_DIGEST_KEYS_FILE": "none", "FLOWGATE_SIGN_KEYS": "none; dev",
		"FLOWGATE_SIGN_KEYS_FILE": "none", "FLOWGATE_ISSUERS_FILE": "none", "FLOWGATE_URL": "http://127.0.0.1:8080", "FLOWGATE_TOKEN": "none",
		"FLOWGATE_TRUSTED_PROXIES": "none", "FLOWGATE_STEP_QUEUES": "64", "FLOWGATE_STEP_LEASE": "30s", "FLOWGATE_STEP_DRAIN": "5s", "FLOWGATE_TARGET_GRACE": "1m",
		"FLOWGATE_LIMIT_CONNECTIONS": "1024", "FLOWGATE_LIMIT_IN_FLIGHT": "1024", "FLOWGATE_LIMIT_REQUESTS": "20000/s:20000",
		"FLOWGATE_LIMIT_FAILURES": "1/s:30", "FLOWGATE_LIMIT_LOOKUPS": "1000/s:1000", "FLOWGATE_LIMIT_SUSPECT_LOOKUPS": "50/s:100",
		"FLOWGATE_LIMIT_HOOK": "20/s:256", "FLOWGATE_LIMIT_NAMESPACE": "off", "FLOWGATE_LIMIT_NAMESPACE_SHARE": "25",
		"FLOWGATE_LIMIT_PRINCIPAL": "5000/s:10000", "FLOWGATE_LIMIT_SOURCE": "1000/s:5000", "FLOWGATE_LIMIT_ACCEPT_WAIT": "1s",
		"FLOWGATE_QUOTA_REDIS_URL": "none", "FLOWGATE_NAMESPACES_FILE": "none", "FLOWGATE_QUOTA_NAMESPACE": "none",
		"FLOWGATE_INGRESS_FILE": "none", "FLOWGATE_INBOX_MESSAGES": "10000", "FLOWGATE_INBOX_KEEP": "168h", "FLOWGATE_OTLP_ENDPOINT": "none", "FLOWGATE_AUDIT": "on", "FLOWGATE_AUDIT_KEEP": "0",
		"FLOWGATE_HTTP_POST_HOSTS": "every public host", "FLOWGATE_HTTP_POST_NAMED_ONLY": "false", "FLOWGATE_HTTP_POST_PORTS": "443",
		"FLOWGATE_HTTP_POST_ALLOW_HTTP": "false", "FLOWGATE_HTTP_POST_INTERNAL_NETWORKS": "none",
		"FLOWGATE_HTTP_POST_INTERNAL_HOSTS": "none", "FLOWGATE_HTTP_POST_TIMEOUT": "15s", "FLOWGATE_HTTP_POST_MAX_TIMEOUT": "1m",
		"FLOWGATE_HTTP_POST_CAPTURE_BYTES": "16384", "FLOWGATE_HTTP_POST_CONCURRENCY": "64",
		"FLOWGATE_HTTP_POST_USER_AGENT": "Flowgate", "FLOWGATE_HTTP_POST_SECRETS_FILE": "none",
	} {
		entry := regexp.MustCompile(`(?m)^` + setting + `\n(?: +.*\n)*? +Default: (.*)$`).FindStringSubmatch(stdout)
		if entry == nil || !strings.HasPrefix(entry[1], says) {
			t.Errorf("%s: entry %q, want the default %q", setting, entry, says)
		}
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(setting, "FLOWGATE_"), "_", "-"))
		if !strings.Contains(stdout, "\n    "+flag+"; of ") {
			t.Errorf("%s: no flag %s", setting, flag)
		}
	}
	if n := strings.Count(stdout, "\nFLOWGATE_"); n != 55 {
		t.Errorf("help lists %d settings, this test knows 55", n)
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"--help"}, "Usage: flowgate <command>"},
		{[]string{"help"}, "Usage: flowgate <command>"},
		{[]string{"serve", "--help"}, "FLOWGATE_PUBLIC_URL"},
		{[]string{"run", "retry", "--help"}, "FLOWGATE_TOKEN"},
		{[]string{"version"}, "flowgate "},
	} {
		stdout, _, err := runWith(t, nil, tt.args...)
		if err != nil || !strings.Contains(stdout, tt.says) {
			t.Errorf("%v: error %v, output %q, want %q", tt.args, err, stdout, tt.says)
		}
	}
}

func TestStartRefusesWhatIsNotLocal(t *testing.T) {
	t.Parallel()
	for name, local := range map[string]app.Local{
		"listen": {Listen: "0.0.0.0:0"},
		"admin":  {AdminListen: ":0"},
		"keys":   {DatabaseURL: "postgres://127.0.0.1:1/x"},
	} {
		if i, err := app.Start(context.Background(), local); err == nil {
			t.Errorf("%s: started", name)
			_ = i.Close()
		}
	}
}
