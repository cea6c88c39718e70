/* What all models but wake.pml and locks.pml share. Each law is a name, so that a failed check says which. */
#define CHECK(law, holds) law = (holds); assert(law)
#define SAY(a...) printf(a) /* for the story of a trail */
