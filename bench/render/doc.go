// Package render makes tables and charts of results, and puts them into a document that is otherwise written by hand.
package render
