package httppost

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

const (
	anyHost       = "*"
	maxHostBytes  = 253
	maxLabelBytes = 63
)

// parseHost brings a host into the one form that lists and connections use: a name in lower case without a final dot, or
// an address. What some resolver might take for an address that it does not spell out is refused. rule is empty if host is
// good.
func parseHost(text string) (host, rule string) {
	if addr, err := netip.ParseAddr(text); err == nil {
		if addr.Zone() != "" {
			return "", "must not name an address with a zone"
		}
		return addr.String(), ""
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	if name == "" {
		return "", "must name a host"
	}
	if len(name) > maxHostBytes {
		return "", fmt.Sprintf("must name a host of at most %d bytes", maxHostBytes)
	}
	labels := strings.Split(name, ".")
	if slices.ContainsFunc(labels, func(l string) bool { return !isLabel(l) }) {
		return "", "must name a host of letters, digits, hyphens and dots, or an address"
	}
	if isNumber(labels[len(labels)-1]) {
		return "", "must spell an address in its usual form"
	}
	return name, ""
}

func isLabel(l string) bool {
	return l != "" && len(l) <= maxLabelBytes && strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" &&
		l[0] != '-' && l[len(l)-1] != '-'
}

// isNumber finds the last labels that make inet_aton and browsers read the whole name as an IPv4 address.
func isNumber(label string) bool {
	if digits, hex := strings.CutPrefix(label, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// hostList is a set of host patterns: hosts, "*.example.com", "*".
type hostList []string

func newHostList(field string, patterns []string) (hostList, error) {
	var list hostList
	for i, p := range patterns {
		if p == anyHost {
			list = append(list, p)
			continue
		}
		rest, below := strings.CutPrefix(p, "*.")
		host, rule := parseHost(rest)
		if rule != "" {
			return nil, invalid(fmt.Sprintf("%s/%d", field, i), rule+`; "*.example.com" stands for every host below example.com`)
		}
		if below {
			host = "*." + host
		}
		list = append(list, host)
	}
	return list, nil
}

// has reports whether a host, in the form of parseHost, is in the set.
func (l hostList) has(host string) bool {
	return slices.ContainsFunc(l, func(p string) bool {
		return p == host || p == anyHost || strings.HasPrefix(p, "*.") && strings.HasSuffix(host, p[1:])
	})
}
