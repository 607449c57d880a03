// Gets an access token as a service does, and verifies it as the API does.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"golang.org/x/oauth2/clientcredentials"
)

func main() {
	ctx := context.Background()
	service := clientcredentials.Config{
		ClientID:     "go-api",
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		TokenURL:     os.Getenv("TESSERA_ISSUER") + "/token",
	}
	token, err := service.Token(ctx)
	if err != nil {
		log.Fatal(err)
	}
	verifier, err := accessTokens(ctx)
	if err != nil {
		log.Fatal(err)
	}
	verified, err := verifier.Verify(ctx, token.AccessToken)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("valid for", verified.Subject)
	_, err = verifier.Verify(ctx, token.AccessToken[:len(token.AccessToken)-8]+"AAAAAAAA")
	fmt.Println("refused:", err)
}
