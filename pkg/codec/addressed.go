package codec

// AppendSubscribed appends n as a JSON-RPC message for the subscription that
// a request with the given raw id began: MetaSubscriptionID in the _meta of
// its params is id, byte for byte, in place of a value that is there. What it
// takes for that is made; all else stays byte for byte. It fails, and returns
// dst as it was, if _meta is neither an object nor null.
func AppendSubscribed(dst []byte, n Notification, id []byte) ([]byte, error) {
	return appendAddressed(dst, n, id, "params", "_meta", MetaSubscriptionID)
}

// AppendProgress appends n, a progress notification, as a JSON-RPC message
// whose params have the given raw progress token instead of theirs. All else
// stays byte for byte.
func AppendProgress(dst []byte, n Notification, token []byte) ([]byte, error) {
	return appendAddressed(dst, n, token, "params", "progressToken")
}

func appendAddressed(dst []byte, n Notification, value []byte, path ...string) ([]byte, error) {
	p, err := find(n.Raw, path[0])
	if err != nil {
		return dst, err
	}
	head := Notification{Raw: n.Raw[:p.from], Versioned: n.Versioned}
	out, err := p.put(AppendNotificationEnvelope(dst, head), n.Raw, value, path)
	if err != nil {
		return dst, err
	}
	return out, nil
}
