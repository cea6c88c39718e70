-- +goose Up

-- pages: one row per link to an approval page, which is for one person, the recipient. The token is not stored: like a
-- hook's it is made again from the mint key, the nonce and what it is bound to, and found by its digest. Rows are kept, so
-- that a link shows for the life of its run what became of the hook.
CREATE TABLE pages (
    run          bigint      NOT NULL,
    hook_id      text        COLLATE "C" NOT NULL,
    recipient    text        COLLATE "C" NOT NULL,
    token_digest bytea       NOT NULL,
    digest_key   text        COLLATE "C" NOT NULL,
    mint_key     text        COLLATE "C" NOT NULL,
    nonce        bytea       NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT statement_timestamp(),
    CONSTRAINT pages_pkey PRIMARY KEY (run, hook_id, recipient),
    CONSTRAINT pages_token UNIQUE (token_digest),
    CONSTRAINT pages_digest_length CHECK (octet_length(token_digest) = 32),
    CONSTRAINT pages_nonce_length CHECK (octet_length(nonce) = 16)
);

-- Which keys the pages use: a start-up check hops from one pair to the next, as it does for hooks.
CREATE INDEX pages_keys ON pages (digest_key, mint_key);

-- +goose Down
