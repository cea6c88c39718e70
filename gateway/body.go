package gateway

import (
	"mime"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// bodyOf returns the body as it was received, after a look at what it claims to be: JSON in UTF-8, or no Content-Type
// at all, and no Content-Encoding. It is never decompressed.
func bodyOf(c *fiber.Ctx) ([]byte, error) {
	header := &c.Request().Header
	if len(header.PeekAll("Content-Encoding")) > 0 {
		return nil, refuse(unsupportedMediaType)
	}
	body := c.BodyRaw()
	if len(body) == 0 {
		// Clients label an empty body as they like; there is nothing it could be mistaken for.
		return nil, nil
	}
	if len(body) >= c.App().Config().BodyLimit {
		// The server lets one byte more pass than is allowed, see settings.
		return nil, refuse(payloadTooLarge)
	}
	if contentType := header.ContentType(); len(contentType) > 0 && !isJSON(string(contentType)) {
		return nil, refuse(unsupportedMediaType)
	}
	return body, nil
}

func isJSON(contentType string) bool {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	subtype, found := strings.CutPrefix(kind, "application/")
	return found && (subtype == "json" || len(subtype) > len("+json") && strings.HasSuffix(subtype, "+json"))
}
