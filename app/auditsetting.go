package app

import "time"

// Names of settings that refusals mention.
const (
	settingAudit     = "FLOWGATE_AUDIT"
	settingAuditKeep = "FLOWGATE_AUDIT_KEEP"
)

// The bounds of FLOWGATE_AUDIT_KEEP, but for 0.
const (
	minAuditKeep = 24 * time.Hour
	maxAuditKeep = 100 * 365 * 24 * time.Hour
)

// auditSettings are those of the audit trail.
type auditSettings struct {
	Audit     string `setting:"FLOWGATE_AUDIT" default:"on" help:"Whether the audit trail is kept: on or off."`
	AuditKeep string `setting:"FLOWGATE_AUDIT_KEEP" default:"0" help:"How long entries of the audit trail stay, 24h to 876000h; 0 is for ever."`
}

// auditParts say whether the audit trail is kept, and for how long; keep is 0 for ever.
type auditParts struct {
	on   bool
	keep time.Duration
}

// auditParts checks the settings.
func (s auditSettings) auditParts() (p auditParts, err error) {
	switch s.Audit {
	case "on":
		p.on = true
	case "off":
	default:
		return p, setting(settingAudit, "must be on or off")
	}
	if s.AuditKeep == "0" {
		return p, nil
	}
	p.keep, err = parseSpan(settingAuditKeep, s.AuditKeep, minAuditKeep, maxAuditKeep)
	return p, err
}
