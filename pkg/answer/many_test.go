//go:build !race

package answer

// many is how many containers there are where it should be thousands.
const many = 2000
