//go:build race

package answer

// many is less than thousands: each costs ten times as much here.
const many = 250
