package inside

// Drain has what would begin anything refused from now on: requests, batches and
// streams get 503, on connections that end with it. What was accepted before goes
// on until Shutdown, and notifications/cancelled and DELETE are still heard. A
// further call does nothing.
func (h *Handler) Drain() { h.draining.Store(true) }

// leaving says that no connection is kept for another request.
func (h *Handler) leaving() bool { return h.draining.Load() || h.stopped() }
