package codec

// Account is told how much of what was charged to it is held no longer. Free must
// not block, and may be called from any goroutine and under any lock.
type Account interface{ Free(n int) }

// Charge has account told of n bytes more when b is given back. What one Buffer
// is charged with is all of one account.
func (b *Buffer) Charge(account Account, n int) {
	b.account = account
	b.charged += n
}

// Charged is how many bytes b is charged with.
func (b *Buffer) Charged() int { return b.charged }

// Inherit charges b with what from was charged with, whose bytes b has now; of
// from nothing is told any more.
func (b *Buffer) Inherit(from *Buffer) {
	if from.account != nil {
		b.Charge(from.account, from.charged)
		from.account, from.charged = nil, 0
	}
}

// discharge tells of all that b was charged with.
func (b *Buffer) discharge() {
	account, n := b.account, b.charged
	b.account, b.charged = nil, 0
	account.Free(n)
}
