// Package cli has the commands that ask a gateway: they speak HTTP only, through package client, with the credential that
// they are given. Tables are for people and never hold a control character of a stranger's; --json is for programs.
package cli
