package app

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// setting makes the refusal of a setting.
func setting(name, rule string) *SettingError {
	return &SettingError{Setting: name, Flag: flagOf(name), Rule: rule}
}

// Names of settings that refusals mention.
const (
	settingDatabaseURL = "FLOWGATE_DATABASE_URL"
	settingPoolSize    = "FLOWGATE_DATABASE_CONNECTIONS"
	settingListen      = "FLOWGATE_LISTEN"
	settingAdminListen = "FLOWGATE_ADMIN_LISTEN"
	settingPublicURL   = "FLOWGATE_PUBLIC_URL"
	settingProxies     = "FLOWGATE_TRUSTED_PROXIES"
)

// databaseSetting says which database.
type databaseSetting struct {
	DatabaseURL string `setting:"FLOWGATE_DATABASE_URL" placeholder:"URL" otherwise:"none; dev has a PostgreSQL of its own" help:"PostgreSQL database, postgres://user:password@host:5432/name."`
}

// poolSetting says how much of it.
type poolSetting struct {
	DatabaseConnections string `setting:"FLOWGATE_DATABASE_CONNECTIONS" default:"16" help:"Most connections to the database at a time, 8 to 1000."`
}

// An engine has up to six transactions at a time that change something, and reads beside them.
const (
	minConnections = 8
	maxConnections = 1000
)

// required refuses to go on without a database.
func (s databaseSetting) required() error {
	if s.DatabaseURL == "" {
		return setting(settingDatabaseURL, "is not set: give the URL of a PostgreSQL database, "+
			"such as postgres://flowgate@db.example.com:5432/flowgate (flowgate dev brings one of its own)")
	}
	return s.check()
}

func (s databaseSetting) check() error {
	if s.DatabaseURL == "" {
		return nil
	}
	// The driver's own words may repeat the password.
	if _, err := pgxpool.ParseConfig(s.DatabaseURL); err != nil {
		return setting(settingDatabaseURL,
			"is not the URL of a PostgreSQL database: want postgres://user:password@host:5432/name, special characters percent-encoded")
	}
	return nil
}

func (s poolSetting) connections() (int, error) {
	n, err := strconv.Atoi(s.DatabaseConnections)
	if err != nil || n < minConnections || n > maxConnections {
		return 0, setting(settingPoolSize, "must be a whole number from 8 to 1000")
	}
	return n, nil
}

// listenSettings say where the gateway answers.
type listenSettings struct {
	Listen string `setting:"FLOWGATE_LISTEN" default:"127.0.0.1:8080" help:"Address of callbacks and API, host:port."`
}

// adminSettings say where the process is asked how it is.
type adminSettings struct {
	AdminListen string `setting:"FLOWGATE_ADMIN_LISTEN" default:"127.0.0.1:9090" help:"Address of /livez, /readyz and /metrics, host:port. The outside world has no business there."`
}

// publicURLSetting says how the outside world reaches the gateway.
type publicURLSetting struct {
	PublicURL string `setting:"FLOWGATE_PUBLIC_URL" placeholder:"URL" otherwise:"none; dev takes the address it listens on" help:"Base of the links that are handed out, such as https://hooks.example.com."`
}

func (s publicURLSetting) required() error {
	if s.PublicURL == "" {
		return setting(settingPublicURL, "is not set: give the base under which the outside world reaches the gateway, "+
			"such as https://hooks.example.com; links are never made from what a request says")
	}
	return s.check()
}

func (s publicURLSetting) check() error {
	if s.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(s.PublicURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return setting(settingPublicURL,
			"must be an http or https URL with a host, and without user, query and fragment, such as https://hooks.example.com")
	}
	return nil
}

// proxySetting says whose word on where a request comes from is taken.
type proxySetting struct {
	TrustedProxies string `setting:"FLOWGATE_TRUSTED_PROXIES" placeholder:"CIDR,…" help:"Networks whose X-Forwarded-For is believed, such as 10.0.0.0/8."`
}

func (s proxySetting) prefixes() ([]netip.Prefix, error) {
	var found []netip.Prefix
	for text := range strings.SplitSeq(s.TrustedProxies, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix != prefix.Masked() {
			return nil, setting(settingProxies, "must be networks in CIDR notation with the host part zero, such as 10.0.0.0/8,fd00::/8")
		}
		found = append(found, prefix)
	}
	return found, nil
}

// checkAddress checks the form of an address to listen on.
func checkAddress(name, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return setting(name, "must be host:port, such as 127.0.0.1:8080, with a port from 0 to 65535")
	}
	return nil
}

// checkAddresses checks both addresses. What answers the outside world and what must not may not share a port.
func checkAddresses(public, admin string) error {
	if err := checkAddress(settingListen, public); err != nil {
		return err
	}
	if err := checkAddress(settingAdminListen, admin); err != nil {
		return err
	}
	_, publicPort, _ := net.SplitHostPort(public)
	_, adminPort, _ := net.SplitHostPort(admin)
	if adminPort == publicPort && adminPort != "0" {
		return setting(settingAdminListen, "has the port of "+settingListen+": give it another one")
	}
	return nil
}

// isLoopback says whether an address can be reached from this machine only.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
