"""Asks a Tessera server whether tokens are good, and follows what ends. See the README beside it."""

import argparse
import json
import os
import sys
import time

import grpc

from tessera.token.v1 import token_pb2, token_pb2_grpc

# Calls go round all addresses of the name, and introspection may be repeated: it changes nothing.
SERVICE_CONFIG = {
    "loadBalancingConfig": [{"round_robin": {}}],
    "methodConfig": [
        {
            "name": [
                {"service": "tessera.token.v1.IntrospectionService", "method": "Introspect"},
                {"service": "tessera.token.v1.IntrospectionService", "method": "BatchIntrospect"},
            ],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.05s",
                "maxBackoff": "0.5s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ],
}
TIMEOUT_SECONDS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="dns:///localhost:9105")
    parser.add_argument("--watch", action="store_true", help="follow what ends")
    parser.add_argument("tokens", nargs="*")
    arguments = parser.parse_args()
    with open_channel(arguments.target) as channel:
        client = token_pb2_grpc.IntrospectionServiceStub(channel)
        try:
            ask(client, arguments.tokens)
            if arguments.watch:
                follow(client)
        except grpc.RpcError as error:
            # Nothing is known of the tokens now. It does not mean that they are not good.
            sys.exit(f"{error.code().name}: {error.details()}")


def ask(client: token_pb2_grpc.IntrospectionServiceStub, tokens: list[str]) -> None:
    if len(tokens) == 1:
        request = token_pb2.IntrospectRequest(token=tokens[0])
        show(client.Introspect(request, timeout=TIMEOUT_SECONDS, metadata=proof()))
    elif tokens:
        request = token_pb2.BatchIntrospectRequest(tokens=tokens)
        answer = client.BatchIntrospect(request, timeout=TIMEOUT_SECONDS, metadata=proof())
        for outcome in answer.outcomes:
            if outcome.WhichOneof("outcome") == "result":
                show(outcome.result)
            else:
                print("introspection is unavailable:", outcome.failure.code)


def show(answer: token_pb2.IntrospectResponse) -> None:
    if not answer.active:
        print("inactive")
        return
    kind = token_pb2.TokenKind.Name(answer.kind)
    print(f"active {kind} sub={answer.sub} client_id={answer.client_id} aud={answer.aud} scope={answer.scope!r}")


def follow(client: token_pb2_grpc.IntrospectionServiceStub) -> None:
    """Comes back with the last cursor it saw, so that it misses nothing."""
    cursor = ""
    while True:
        request = token_pb2.WatchRevocationsRequest(cursor=cursor)
        try:
            for message in client.WatchRevocations(request, metadata=proof()):
                cursor = message.cursor
                if message.kind != token_pb2.REVOCATION_KIND_UNSPECIFIED:
                    kind = token_pb2.RevocationKind.Name(message.kind)
                    print(
                        f"ended {kind} tenant={message.tenant_id} sub={message.sub}"
                        f" client_id={message.client_id} session={message.session_id}",
                        flush=True,
                    )
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.OUT_OF_RANGE:
                cursor = ""  # Too old: forget what was derived from earlier messages and start anew.
            elif error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                raise
        time.sleep(0.5)


def open_channel(target: str) -> grpc.Channel:
    """Over TLS where TESSERA_CA is set, with a client certificate whose name is `introspector` where TESSERA_CERT is."""
    options = [("grpc.service_config", json.dumps(SERVICE_CONFIG))]
    authorities = os.environ.get("TESSERA_CA")
    if not authorities:
        return grpc.insecure_channel(target, options)
    certificate = os.environ.get("TESSERA_CERT")
    credentials = grpc.ssl_channel_credentials(
        root_certificates=read(authorities),
        certificate_chain=read(certificate) if certificate else None,
        private_key=read(os.environ["TESSERA_KEY"]) if certificate else None,
    )
    server_name = os.environ.get("TESSERA_SERVER_NAME")
    if server_name:
        options.append(("grpc.ssl_target_name_override", server_name))
    return grpc.secure_channel(target, credentials, options)


def proof() -> list[tuple[str, str]]:
    """An access token with the scope `tokens.introspect`, or the shared token of a development set-up."""
    if access_token := os.environ.get("TESSERA_ACCESS_TOKEN"):
        return [("authorization", f"Bearer {access_token}")]
    if shared_token := os.environ.get("TESSERA_RPC_TOKEN"):
        return [("authorization", f"Bearer {shared_token}"), ("x-tessera-caller", "introspector")]
    return []


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    main()
