package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

// The names of the settings of http.post.
const (
	settingPostHosts     = "FLOWGATE_HTTP_POST_HOSTS"
	settingPostNamedOnly = "FLOWGATE_HTTP_POST_NAMED_ONLY"
	settingPostPorts     = "FLOWGATE_HTTP_POST_PORTS"
	settingPostAllowHTTP = "FLOWGATE_HTTP_POST_ALLOW_HTTP"
	settingPostNetworks  = "FLOWGATE_HTTP_POST_INTERNAL_NETWORKS"
	settingPostInternal  = "FLOWGATE_HTTP_POST_INTERNAL_HOSTS"
	settingPostTimeout   = "FLOWGATE_HTTP_POST_TIMEOUT"
	settingPostMax       = "FLOWGATE_HTTP_POST_MAX_TIMEOUT"
	settingPostCapture   = "FLOWGATE_HTTP_POST_CAPTURE_BYTES"
	settingPostPlaces    = "FLOWGATE_HTTP_POST_CONCURRENCY"
	settingPostAgent     = "FLOWGATE_HTTP_POST_USER_AGENT"
	settingPostSecrets   = "FLOWGATE_HTTP_POST_SECRETS_FILE"
)

// httpPostSettings say what the built-in step http.post may do.
type httpPostSettings struct {
	HTTPPostHosts            string `setting:"FLOWGATE_HTTP_POST_HOSTS" placeholder:"HOST,…" otherwise:"every public host" help:"Hosts that runs may name to http.post, such as api.example.com,*.example.org."`
	HTTPPostNamedOnly        yesNo  `setting:"FLOWGATE_HTTP_POST_NAMED_ONLY" otherwise:"false" help:"Let runs post to the endpoints of the secrets file only."`
	HTTPPostPorts            string `setting:"FLOWGATE_HTTP_POST_PORTS" placeholder:"PORT,…" otherwise:"443, and 80 where http is allowed" help:"Ports that http.post may connect to."`
	HTTPPostAllowHTTP        yesNo  `setting:"FLOWGATE_HTTP_POST_ALLOW_HTTP" otherwise:"false" help:"Allow http beside https."`
	HTTPPostInternalNetworks string `setting:"FLOWGATE_HTTP_POST_INTERNAL_NETWORKS" placeholder:"CIDR,…" help:"Networks that http.post may connect to although they are not public, such as 10.1.0.0/16."`
	HTTPPostInternalHosts    string `setting:"FLOWGATE_HTTP_POST_INTERNAL_HOSTS" placeholder:"HOST,…" help:"Hosts that may have private addresses. Whoever rules their DNS rules where they lead."`
	HTTPPostTimeout          string `setting:"FLOWGATE_HTTP_POST_TIMEOUT" default:"15s" help:"Time of one attempt of http.post, unless its input says otherwise, 100ms to 10m."`
	HTTPPostMaxTimeout       string `setting:"FLOWGATE_HTTP_POST_MAX_TIMEOUT" default:"1m" help:"The longest time that an input may ask for, to 10m."`
	HTTPPostCaptureBytes     string `setting:"FLOWGATE_HTTP_POST_CAPTURE_BYTES" default:"16384" help:"How much of a response's body is kept, 1 to 32768."`
	HTTPPostConcurrency      string `setting:"FLOWGATE_HTTP_POST_CONCURRENCY" default:"64" help:"How many posts this process does at a time, to 10000; 0: it does none."`
	HTTPPostUserAgent        string `setting:"FLOWGATE_HTTP_POST_USER_AGENT" default:"Flowgate" help:"The header User-Agent of http.post."`
	HTTPPostSecretsFile      string `setting:"FLOWGATE_HTTP_POST_SECRETS_FILE" placeholder:"PATH" help:"JSON file with the endpoints, credentials and signing secrets that runs name; nobody else may read it."`
}

// config makes the configuration of http.post, and nil where this process does not post. Refusals name the setting and the
// place in it, never a value.
func (s httpPostSettings) config() (*httppost.Config, error) {
	places, err := parseWhole(settingPostPlaces, s.HTTPPostConcurrency, 0, httppost.LimitConcurrency)
	if err != nil || places == 0 {
		return nil, err
	}
	c := &httppost.Config{
		Hosts: listed(s.HTTPPostHosts), InternalHosts: listed(s.HTTPPostInternalHosts), Concurrency: places,
		UserAgent: s.HTTPPostUserAgent,
	}
	for _, read := range []func(*httppost.Config) error{s.switches, s.bounds, s.addresses, s.secrets} {
		if err := read(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (s httpPostSettings) switches(c *httppost.Config) (err error) {
	if c.NamedOnly, err = s.HTTPPostNamedOnly.value(settingPostNamedOnly); err != nil {
		return err
	}
	c.AllowHTTP, err = s.HTTPPostAllowHTTP.value(settingPostAllowHTTP)
	return err
}

func (s httpPostSettings) bounds(c *httppost.Config) (err error) {
	const least = 100 * time.Millisecond
	if c.MaxTimeout, err = parseSpan(settingPostMax, s.HTTPPostMaxTimeout, least, httppost.LimitTimeout); err != nil {
		return err
	}
	if c.Timeout, err = parseSpan(settingPostTimeout, s.HTTPPostTimeout, least, httppost.LimitTimeout); err != nil {
		return err
	}
	if c.Timeout > c.MaxTimeout {
		return setting(settingPostTimeout, "must be at most "+settingPostMax)
	}
	c.CaptureBytes, err = parseWhole(settingPostCapture, s.HTTPPostCaptureBytes, 1, httppost.LimitCaptureBytes)
	return err
}

func (s httpPostSettings) addresses(c *httppost.Config) error {
	for i, text := range listed(s.HTTPPostPorts) {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return setting(settingPostPorts, fmt.Sprintf("entry %d must be a port from 1 to 65535", i+1))
		}
		c.Ports = append(c.Ports, uint16(port))
	}
	for i, text := range listed(s.HTTPPostInternalNetworks) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix != prefix.Masked() {
			return setting(settingPostNetworks,
				fmt.Sprintf("entry %d must be a network in CIDR notation with the host part zero, such as 10.0.0.0/8", i+1))
		}
		c.InternalNetworks = append(c.InternalNetworks, prefix)
	}
	return nil
}

func (s httpPostSettings) secrets(c *httppost.Config) error {
	if s.HTTPPostSecretsFile == "" {
		return nil
	}
	text, err := readPrivate(s.HTTPPostSecretsFile)
	if _, unreadable := errors.AsType[*fs.PathError](err); unreadable {
		return setting(settingPostSecrets, fmt.Sprintf("cannot be read: %v", err))
	} else if err != nil {
		return setting(settingPostSecrets, err.Error())
	}
	names, err := httppost.ParseNames([]byte(text))
	if bad, ok := errors.AsType[*spec.InvalidError](err); ok {
		return setting(settingPostSecrets, bad.Field+" "+bad.Rule)
	}
	c.Endpoints, c.Credentials, c.Signing = names.Endpoints, names.Credentials, names.Signing
	return err
}

// posting makes the poster of a configuration. Errors: *spec.InvalidError.
func (s *stepParts) posting(c httppost.Config) error {
	c.HookURL = (*engine.Step).HookURL
	var err error
	if s.poster, err = httppost.New(c); err != nil {
		return err
	}
	if s.posts = c.Concurrency; s.posts == 0 {
		s.posts = httppost.DefaultConcurrency
	}
	return nil
}

// postFields are the settings behind the fields of httppost.Config that only package httppost checks.
var postFields = map[string]string{
	"Hosts": settingPostHosts, "InternalHosts": settingPostInternal, "InternalNetworks": settingPostNetworks,
	"UserAgent": settingPostAgent, "Endpoints": settingPostSecrets, "Credentials": settingPostSecrets, "Signing": settingPostSecrets,
}

// postRefusal says which setting a refusal of package httppost is about, and the place in it.
func postRefusal(err error) error {
	bad, ok := errors.AsType[*spec.InvalidError](err)
	if !ok {
		return err
	}
	field, place, _ := strings.Cut(bad.Field, "/")
	name, known := postFields[field]
	switch n, notNumber := strconv.Atoi(place); {
	case !known:
		return err
	case name == settingPostSecrets:
		return setting(name, fileSpelling.Replace(bad.Field)+" "+bad.Rule)
	case notNumber == nil:
		return setting(name, fmt.Sprintf("entry %d %s", n+1, bad.Rule))
	}
	return setting(name, bad.Rule)
}

// fileSpelling makes the place of a field what the secrets file calls it.
var fileSpelling = strings.NewReplacer(
	"Endpoints", "endpoints", "Credentials", "credentials", "Signing", "signing", "/URL", "/url", "/Auth", "/auth",
	"/SignWith", "/sign_with", "/Namespaces", "/namespaces", "/Hosts", "/hosts", "/Header", "/header", "/Value", "/value",
	"/Secrets", "/secrets",
)

// yesNo is a flag that an environment variable can set as well.
type yesNo string

// IsBool lets the flag stand without a value.
func (yesNo) IsBool() bool { return true }

// Decode takes the value as it is; value checks it.
func (y *yesNo) Decode(ctx *kong.DecodeContext) error {
	*y = "true"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		*y = yesNo(ctx.Scan.Pop().String())
	}
	return nil
}

func (y yesNo) value(name string) (bool, error) {
	switch y {
	case "":
		return false, nil
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no":
		return false, nil
	}
	return false, setting(name, "must be true or false")
}
