// Signs a person in from the command line: first in a browser on this machine, then as a device.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	provider, config, err := tessera(ctx)
	if err != nil {
		return err
	}
	token, err := inBrowser(ctx, provider, config)
	if err != nil {
		return err
	}
	if err := show(ctx, provider, config.TokenSource(ctx, token)); err != nil {
		return err
	}
	// An expired token: the source refreshes it.
	expired := &oauth2.Token{RefreshToken: token.RefreshToken, Expiry: time.Now().Add(-time.Hour)}
	refreshing := oauth2.ReuseTokenSource(expired, config.TokenSource(ctx, expired))
	if _, err := refreshing.Token(); err != nil {
		return err
	}
	fmt.Print("refreshed ")
	if err := show(ctx, provider, refreshing); err != nil {
		return err
	}
	// The library itself sends no secret here, and a confidential application authenticates.
	secret := oauth2.SetAuthURLParam("client_secret", config.ClientSecret)
	device, err := config.DeviceAuth(ctx, secret)
	if err != nil {
		return err
	}
	fmt.Println(device.VerificationURIComplete)
	token, err = config.DeviceAccessToken(ctx, device)
	if err != nil {
		return err
	}
	return show(ctx, provider, config.TokenSource(ctx, token))
}

func inBrowser(ctx context.Context, provider *oidc.Provider, config *oauth2.Config) (*oauth2.Token, error) {
	verifier, state, nonce := oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	codes := make(chan string)
	http.HandleFunc("/callback", func(response http.ResponseWriter, request *http.Request) {
		if request.FormValue("state") != state {
			http.Error(response, "wrong state", http.StatusBadRequest)
			return
		}
		fmt.Fprintln(response, "Done.")
		codes <- request.FormValue("code")
	})
	go http.ListenAndServe("localhost:19400", nil)
	fmt.Println(config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)))
	token, err := config.Exchange(ctx, <-codes, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, err
	}
	raw, _ := token.Extra("id_token").(string)
	idToken, err := provider.Verifier(&oidc.Config{ClientID: config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	if idToken.Nonce != nonce {
		return nil, errors.New("wrong nonce")
	}
	return token, nil
}

func show(ctx context.Context, provider *oidc.Provider, tokens oauth2.TokenSource) error {
	user, err := provider.UserInfo(ctx, tokens)
	if err == nil {
		fmt.Println(user.Subject, user.Email)
	}
	return err
}
