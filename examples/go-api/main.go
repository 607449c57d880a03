// Verifies an access token as an API does: a good one, and one whose signature is wrong.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
)

func main() {
	ctx := context.Background()
	token := os.Getenv("ACCESS_TOKEN")
	verifier, err := accessTokens(ctx)
	if err != nil {
		log.Fatal(err)
	}
	verified, err := verifier.Verify(ctx, token)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("valid for", verified.Subject)
	_, err = verifier.Verify(ctx, token[:len(token)-8]+"AAAAAAAA")
	fmt.Println("refused:", err)
}
