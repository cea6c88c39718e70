// Package httppost is the built-in step http.post: one signed JSON POST to an outside endpoint, and what came back.
//
// A host makes a Poster of a Config and registers its Step under Name. A workflow gives an Input and reads an Output. The
// step sends once for each attempt; whether another attempt follows is the retry policy of the workflow, which the codes
// of this package steer. docs/steps-http-post.md has the rules and examples.
//
// Inputs rest in histories, so secrets are not in them: an input names an endpoint, a credential, a signing key or a hook,
// and the process puts the secret in while it sends. Requests go to public addresses only, unless the host says otherwise;
// the address itself is checked when the connection is made, whatever a name resolved to before.
package httppost
