// Package access says who may do what: it verifies the credentials of API callers, makes and revokes API keys, and
// exchanges credentials for short-lived ones.
//
// Two kinds of credentials come from outside: API keys, which are stored by digest and looked up at every request, and
// JWTs of configured issuers, whose keys come from a file or a URL. One kind is made here: JWTs of at most ten minutes,
// signed with keys of this deployment, narrower than what they were exchanged for.
//
// Whatever is wrong with a credential, the caller gets the zero Principal and an error that matches ErrRefused and tells
// nothing to strangers. ErrUnavailable says that nobody could tell; it is never a refusal.
package access
