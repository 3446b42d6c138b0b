package definition

import (
	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/signature"
)

func webhookKeys(w *lineshaft.Webhook) []key {
	return []key{
		{name: "authMode", doc: "How senders prove who they are; token by default.", value: authMode(&w.AuthMode)},
		{name: "signatureScheme", doc: "How the sender signs. With authMode signature, and only then.", value: text(&w.SignatureScheme, textRules{words: signature.Names()})},
		{name: "secretName", doc: "the managed secret that deliveries are checked with", required: true, value: text(&w.SecretName, secretRules())},
		{name: "deliveryIdHeader", doc: "The header in which the sender puts an id of the delivery.", value: text(&w.DeliveryIDHeader, textRules{most: 128})},
		{name: "enabled", doc: "Whether deliveries are taken; true by default.", value: toggle(&w.Enabled, true)},
		{name: "rateLimit", doc: "Deliveries per minute; 60 by default, 0 means no limit.", value: whole(&w.RateLimit, 0, lineshaft.MaxWebhookRate, lineshaft.DefaultWebhookRate)},
		{name: "maxBodyBytes", doc: "The largest body; 262144 by default.", value: whole(&w.MaxBodyBytes, 1, lineshaft.MaxWebhookBytes, lineshaft.DefaultWebhookBytes)},
		{name: "replayGuard", doc: "Whether a body that was taken before is a duplicate under any id; false by default.", value: toggle(&w.ReplayGuard, false)},
		{name: "hmac", doc: "The settings of signatureScheme hmac.", value: block(&w.HMAC, hmacKeys)},
	}
}

func authMode(to *lineshaft.AuthMode) value {
	return text(to, textRules{words: lineshaft.Convert[string](lineshaft.AuthModes()), usual: string(lineshaft.AuthToken)})
}

func hmacKeys(h *lineshaft.WebhookHMAC) []key {
	return []key{
		{name: "header", doc: "The header that carries the signature.", value: text(&h.Header, textRules{})},
		{name: "prefix", doc: "What comes before it, such as sha256=.", value: text(&h.Prefix, textRules{})},
		{name: "digest", doc: "The digest; sha256 by default.", value: text(&h.Digest, textRules{words: []string{"sha1", "sha256", "sha384", "sha512"}})},
		{name: "encoding", doc: "How it is written; hex by default.", value: text(&h.Encoding, textRules{words: []string{"hex", "base64"}})},
		{name: "template", doc: "What is signed: {body} by default, or {timestamp}.{body} and the like.", value: text(&h.Template, textRules{})},
		{name: "timestampHeader", doc: "The header that carries {timestamp}.", value: text(&h.TimestampHeader, textRules{})},
		{name: "idHeader", doc: "The header that carries {id}.", value: text(&h.IDHeader, textRules{})},
	}
}

func (p *parsing) readWebhook(file, name, text string) {
	r := p.reader(file, KindWebhook, name)
	w := lineshaft.Webhook{
		Name: name, AuthMode: lineshaft.AuthToken, Enabled: true,
		RateLimit: lineshaft.DefaultWebhookRate, MaxBodyBytes: lineshaft.DefaultWebhookBytes,
	}
	if n := r.document(text); n != nil {
		r.object("", n, webhookKeys(&w))
		if n.kind == objectNode {
			r.checkWebhook(n, w)
		}
	}
	p.def.Webhooks = append(p.def.Webhooks, w)
}

// checkWebhook makes the checks of the API, part by part, so that one mistake does
// not hide another. A value that the keys' own rules refused has its default here.
func (r *reader) checkWebhook(n *node, w lineshaft.Webhook) {
	core := w
	core.DeliveryIDHeader, core.HMAC = "", lineshaft.WebhookHMAC{}
	refused := func(key string, read bool) bool { return n.get(key) != nil && !read }
	mode := n.get("authMode")
	if refused("signatureScheme", w.SignatureScheme != "") || mode != nil && mode.text != string(w.AuthMode) {
		core.AuthMode, core.SignatureScheme = lineshaft.AuthToken, ""
	}
	if err := core.Validate(); err != nil {
		r.blame(err, "")
		core.AuthMode, core.SignatureScheme = lineshaft.AuthToken, ""
		if n.get("signatureScheme") != nil {
			core.AuthMode, core.SignatureScheme = lineshaft.AuthSignature, w.SignatureScheme
		}
	}
	withHMAC := core
	withHMAC.HMAC = w.HMAC
	if hmac := n.get("hmac"); hmac != nil || core.SignatureScheme == "hmac" {
		err := withHMAC.Validate()
		if err == nil {
			err = signature.Check(withHMAC)
		}
		if hmac == nil || !hmac.refusedWord("digest", w.HMAC.Digest) && !hmac.refusedWord("encoding", w.HMAC.Encoding) {
			r.blame(err, "")
		}
	}
	withHeader := core
	if withHeader.DeliveryIDHeader = w.DeliveryIDHeader; core.SignatureScheme == "hmac" {
		withHeader.HMAC = w.HMAC
		if signature.HMAC(w.HMAC).Validate() != nil {
			withHeader.AuthMode, withHeader.SignatureScheme, withHeader.HMAC = lineshaft.AuthToken, "", lineshaft.WebhookHMAC{}
		}
	}
	if err := withHeader.Validate(); err != nil {
		r.blame(err, "")
		return
	}
	r.blame(signature.Check(withHeader), "")
}

// refusedWord says that a key exists and its value was not accepted.
func (n *node) refusedWord(key, read string) bool {
	v := n.get(key)
	return v != nil && v.text != read
}
