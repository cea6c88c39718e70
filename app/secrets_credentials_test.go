package app_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
)

// credentialWays are the ways in which a credential is sent, well and badly; <C> stands for it.
var credentialWays = []string{
	"GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>\r\n",
	"GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>0\r\n",
	"GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Basic <C>\r\n",
	"GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>\r\nAuthorization: Bearer <C>\r\n",
	"GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>\r\nX-Request-Id: <C>\r\nUser-Agent: <C>\r\nCookie: <C>\r\n",
	"POST /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>\r\nContent-Length: 0\r\n",
	"GET /v1/runs?access_token=<C> HTTP/1.1\r\nHost: a\r\n",
	"GET /v1/runs?cursor=<C> HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>\r\n",
	"GET /<C> HTTP/1.1\r\nHost: a\r\n",
	"POST /callbacks/flow/hooks/<C> HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n",
	"POST /callbacks/flow/hooks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>\r\nContent-Length: 1\r\n\r\n1",
	"POST /v1/token HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>\r\nContent-Length: 0\r\n",
	"POST /v1/token?subject_token=<C> HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n",
	"GET /v1/runs HTTP/9.9\r\nHost: <C>\r\nAuthorization: Bearer <C>\r\n",
	"GET /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>\r\nbroken <C>\r\n",
	"<C> /v1/runs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer <C>\r\n",
}

// useCredentials makes API keys and tokens, and uses them in every way at both gateways. The first one is revoked then.
func (v *vault) useCredentials() {
	v.t.Helper()
	for n := range 20 {
		key, id := v.makeKey()
		token := v.exchangeKey(key)
		for _, credential := range []string{key, token} {
			for _, gate := range []*leaky{v.gate, v.closed} {
				v.sendCredential(gate.url, credential)
			}
		}
		if n == 0 {
			v.keep("what commands say", v.command("apikey", "revoke", id))
			v.sendCredential(v.closed.url, key)
			v.sendCredential(v.closed.url, token)
		}
	}
	v.keep("what commands say", v.command("apikey", "list"))
}

func (v *vault) sendCredential(address, credential string) {
	for _, way := range credentialWays {
		head, body, _ := strings.Cut(strings.ReplaceAll(way, "<C>", credential), "\r\n\r\n")
		v.keep("answers", v.talk(address, strings.TrimSuffix(head, "\r\n")+"\r\nConnection: close\r\n\r\n"+body))
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {credential}, "resource": {credential}}
	res, err := http.PostForm("http://"+address+"/v1/token", form)
	if err != nil {
		v.t.Error(err)
		return
	}
	_ = res.Body.Close()
}

// makeKey makes an API key as an operator does, of a namespace without runs.
func (v *vault) makeKey() (key, id string) {
	v.t.Helper()
	key = strings.TrimSpace(v.command("apikey", "create", "--namespace=empty", "--name=leak", "--scope=runs:read", "--scope=runs:start"))
	v.search.add(bearer, key)
	v.search.add(bearer, strings.TrimPrefix(key, "fge_"))
	err := v.conn.QueryRow(v.t.Context(), "select key_id from api_keys order by created_at desc limit 1").Scan(&id)
	if err != nil {
		v.t.Fatal(err)
	}
	return key, id
}

func (v *vault) exchangeKey(key string) string {
	v.t.Helper()
	res, err := http.PostForm("http://"+v.closed.url+"/v1/token", url.Values{
		"grant_type":    {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token": {key}, "subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
	})
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Token == "" {
		v.t.Fatalf("exchange: status %d %v", res.StatusCode, err)
	}
	v.search.add(bearer, answer.Token)
	v.search.add(bearer, answer.Token[strings.LastIndex(answer.Token, ".")+1:])
	return answer.Token
}

// command runs a command of the program and returns what it writes to its standard output. What else it says is kept.
func (v *vault) command(args ...string) string {
	v.t.Helper()
	cmd := exec.CommandContext(v.t.Context(), os.Args[0], args...)
	cmd.Env = []string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir()}
	for name, value := range v.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		v.t.Fatalf("%v: %v %s", args, err, said.String())
	}
	v.keep("what commands say", said.String())
	return string(out)
}
