// Asks a Tessera server whether tokens are good, and follows what ends. See the README beside it.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tessera.example/introspect/gen/tokenv1"
)

// Calls go round all addresses of the name, and introspection may be repeated: it changes nothing.
const serviceConfig = `{
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [
      {"service": "tessera.token.v1.IntrospectionService", "method": "Introspect"},
      {"service": "tessera.token.v1.IntrospectionService", "method": "BatchIntrospect"}
    ],
    "timeout": "2s",
    "retryPolicy": {
      "maxAttempts": 4,
      "initialBackoff": "0.05s",
      "maxBackoff": "0.5s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
}`

func main() {
	target := flag.String("target", "dns:///localhost:9105", "address of the server")
	watch := flag.Bool("watch", false, "follow what ends")
	flag.Parse()
	if err := run(*target, *watch, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(target string, watch bool, tokens []string) error {
	transport, err := transportCredentials()
	if err != nil {
		return err
	}
	connection, err := grpc.NewClient(target,
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(serviceConfig))
	if err != nil {
		return err
	}
	defer connection.Close()
	client := tokenv1.NewIntrospectionServiceClient(connection)
	ctx := proof(context.Background())
	if len(tokens) == 1 {
		answer, err := client.Introspect(ctx, &tokenv1.IntrospectRequest{Token: tokens[0]})
		if err != nil {
			return err // Nothing is known of the token now. It does not mean that it is not good.
		}
		show(answer)
	} else if len(tokens) > 1 {
		if err := introspectTogether(ctx, client, tokens); err != nil {
			return err
		}
	}
	if watch {
		return follow(ctx, client)
	}
	return nil
}

func introspectTogether(ctx context.Context, client tokenv1.IntrospectionServiceClient, tokens []string) error {
	answer, err := client.BatchIntrospect(ctx, &tokenv1.BatchIntrospectRequest{Tokens: tokens})
	if err != nil {
		return err
	}
	for _, outcome := range answer.Outcomes {
		switch told := outcome.Outcome.(type) {
		case *tokenv1.IntrospectOutcome_Result:
			show(told.Result)
		case *tokenv1.IntrospectOutcome_Failure:
			fmt.Println("introspection is unavailable:", told.Failure.Code)
		}
	}
	return nil
}

func show(answer *tokenv1.IntrospectResponse) {
	if !answer.Active {
		fmt.Println("inactive")
		return
	}
	fmt.Printf("active %s sub=%s client_id=%s aud=%s scope=%q until=%s\n",
		answer.Kind, answer.Sub, answer.ClientId, answer.Aud, answer.Scope, time.Unix(answer.Exp, 0).UTC().Format(time.RFC3339))
}

// follow comes back with the last cursor it saw, so that it misses nothing.
func follow(ctx context.Context, client tokenv1.IntrospectionServiceClient) error {
	cursor := ""
	for {
		stream, err := client.WatchRevocations(ctx, &tokenv1.WatchRevocationsRequest{Cursor: cursor})
		for err == nil {
			var message *tokenv1.WatchRevocationsResponse
			if message, err = stream.Recv(); err != nil {
				break
			}
			cursor = message.Cursor
			if message.Kind != tokenv1.RevocationKind_REVOCATION_KIND_UNSPECIFIED {
				fmt.Printf("ended %s tenant=%s sub=%s client_id=%s session=%s\n",
					message.Kind, message.TenantId, message.Sub, message.ClientId, message.SessionId)
			}
		}
		switch status.Code(err) {
		case codes.OutOfRange:
			cursor = "" // Too old: forget what was derived from earlier messages and start anew.
		case codes.Unauthenticated, codes.PermissionDenied, codes.InvalidArgument:
			return err
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// transportCredentials reads PEM files: CA alone, or with a client certificate whose name is `introspector`.
func transportCredentials() (credentials.TransportCredentials, error) {
	ca := os.Getenv("TESSERA_CA")
	if ca == "" {
		return insecure.NewCredentials(), nil
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, errors.New("TESSERA_CA holds no certificate")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: authorities, ServerName: os.Getenv("TESSERA_SERVER_NAME")}
	if certificate := os.Getenv("TESSERA_CERT"); certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, os.Getenv("TESSERA_KEY"))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// proof adds an access token with the scope `tokens.introspect`, or the shared token of a development set-up.
func proof(ctx context.Context) context.Context {
	if token := os.Getenv("TESSERA_ACCESS_TOKEN"); token != "" {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	if token := os.Getenv("TESSERA_RPC_TOKEN"); token != "" {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token, "x-tessera-caller", "introspector")
	}
	return ctx
}
