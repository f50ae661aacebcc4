// Package child runs what is measured in processes of its own: the gateway, the floors, the peers, and says what each of them
// uses. A program that starts children of its own kind calls [Main] first: that is how it becomes one of the [Role]s. Needs
// Linux.
package child
