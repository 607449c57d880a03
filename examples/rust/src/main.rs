//! Signs a person in from the command line.
mod tessera;

use openidconnect::core::{CoreAuthenticationFlow, CoreUserInfoClaims};
use openidconnect::reqwest::{blocking::Client as Http, redirect::Policy};
use openidconnect::{
    AuthorizationCode, CsrfToken, Nonce, OAuth2TokenResponse, PkceCodeChallenge, Scope, TokenResponse,
};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

fn main() -> Result<(), Box<dyn Error>> {
    let http = Http::builder().redirect(Policy::none()).build()?;
    let client = tessera::tessera(&http)?;
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let (url, state, nonce) = client
        .authorize_url(CoreAuthenticationFlow::AuthorizationCode, CsrfToken::new_random, Nonce::new_random)
        .add_scopes(tessera::SCOPES.split(' ').map(|scope| Scope::new(scope.into())))
        .set_pkce_challenge(challenge)
        .url();
    let listener = TcpListener::bind("localhost:19400")?;
    println!("{url}");

    let callback = wait(&listener)?;
    let parameter = |name: &str| callback.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if parameter("state").as_ref() != Some(state.secret()) {
        return Err("wrong state".into());
    }
    let code = AuthorizationCode::new(parameter("code").ok_or("no code")?);
    let tokens = client.exchange_code(code)?.set_pkce_verifier(verifier).request(&http)?;
    let id_token = tokens.id_token().ok_or("no ID token")?;
    let subject = id_token.claims(&client.id_token_verifier(), &nonce)?.subject().clone();

    let refresh_token = tokens.refresh_token().ok_or("no refresh token")?;
    let refreshed = client.exchange_refresh_token(refresh_token)?.request(&http)?;
    let user: CoreUserInfoClaims = client.user_info(refreshed.access_token().clone(), Some(subject))?.request(&http)?;
    println!("refreshed {}", user.email().ok_or("no e-mail address")?.as_str());
    Ok(())
}

/// Waits for the browser to come back.
fn wait(listener: &TcpListener) -> Result<openidconnect::url::Url, Box<dyn Error>> {
    let (mut stream, _) = listener.accept()?;
    let mut request = String::new();
    BufReader::new(&stream).read_line(&mut request)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nDone.")?;
    let path = request.split(' ').nth(1).ok_or("no path")?;
    Ok(format!("http://localhost:19400{path}").parse()?)
}
