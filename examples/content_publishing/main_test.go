package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine/enginetest"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// spring: Please review: Spring is here
	//   the editors answer: 202
	//   completed {"status":"published","page":"/articles/spring","editor":"ada"}
	// autumn: Please review: Autumn is here
	//   the editors answer: 202
	//   completed {"status":"rejected","editor":"ada","note":"It is spring."}
	// summer: Please review: Summer will come
	//   the editors answer: 202
	//   completed {"status":"withdrawn"}
}

// noon is when the tests begin.
var noon = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

// asked is an article that the editors were asked about, under a virtual clock.
func asked(t *testing.T, embargo time.Duration) *enginetest.Run {
	t.Helper()
	article := enginetest.New(t, ArticleSpec, Publish, enginetest.At(noon))
	article.Start(Article{Title: "Spring", Embargo: noon.Add(embargo)})
	article.CompleteStep("render", "<h1>Spring</h1>")
	article.CompleteStep("ask", nil)
	return article
}

func wantStatus(t *testing.T, article *enginetest.Run, status string) {
	t.Helper()
	var end Outcome
	if article.Output(&end); end.Status != status {
		t.Errorf("the article ended with %+v, want %s", end, status)
	}
}

func TestAnEmbargoIsKept(t *testing.T) {
	article := asked(t, 48*time.Hour)
	article.Resume("review", Review{Approved: true, Editor: "ada"})
	article.Advance(47 * time.Hour)
	if got := fmt.Sprint(article.Waiting()); got != "[embargo withdrawal]" {
		t.Errorf("an hour before its time the article waits for %s", got)
	}
	article.Advance(time.Hour)
	article.Signal("withdrawn", nil) // too late
	article.CompleteStep("publish", "/articles/spring")
	wantStatus(t, article, "published")
}

func TestNoEmbargo(t *testing.T) {
	article := enginetest.New(t, ArticleSpec, Publish, enginetest.At(noon))
	article.Start(Article{Title: "Spring"})
	article.CompleteStep("render", "<h1>Spring</h1>")
	article.Resume("review", Review{Approved: true, Editor: "ada"})
	article.CompleteStep("publish", "/articles/spring")
	wantStatus(t, article, "published")
}

func TestAnArticleIsWithdrawn(t *testing.T) {
	article := asked(t, 48*time.Hour)
	article.Signal("withdrawn", nil) // before the review: it counts when the embargo is waited for
	article.Resume("review", Review{Approved: true, Editor: "ada"})
	wantStatus(t, article, "withdrawn")
}

func TestNobodyReviews(t *testing.T) {
	article := asked(t, 0)
	article.Advance(72 * time.Hour)
	wantStatus(t, article, "forgotten")
}

func TestTheDeskCannotBeReached(t *testing.T) {
	article := enginetest.New(t, ArticleSpec, Publish)
	article.Start(Article{Title: "Spring"})
	article.CompleteStep("render", "<h1>Spring</h1>")
	article.FailStep("ask", "http_410", "gone")
	if got := article.Failure(); got != `step "ask" failed (exhausted): gone` {
		t.Errorf("the article failed with %q", got)
	}
}
