// Package bench is the folder of what measures the gateway: far ends ([bench/wire], [bench/load]), what it is compared with
// ([bench/floor], [bench/peers]), and the runs that compare ([bench/suite], [bench/report]). README.md says how to run it.
package bench
