package example;

import static org.springframework.security.config.Customizer.withDefaults;

import java.time.Duration;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Profile;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.OAuth2AuthorizationContext;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.RefreshTokenOAuth2AuthorizedClientProvider;
import org.springframework.security.oauth2.client.annotation.RegisteredOAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.core.Authentication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** By profile: a client with a sign-in, and resource servers that verify (/jwt) and introspect (/opaque) access tokens. */
@SpringBootApplication
public class Application {
  public static void main(String[] args) {
    SpringApplication.run(Application.class, args);
  }

  @Profile("jwt")
  @RestController
  static class Verifying {
    @Bean
    SecurityFilterChain chain(HttpSecurity http) throws Exception {
      return needingScope(http).oauth2ResourceServer(server -> server.jwt(withDefaults())).build();
    }

    @GetMapping("/jwt")
    String api(Authentication caller) {
      return caller.getName();
    }
  }

  @Profile("opaque")
  @RestController
  static class Introspecting {
    @Bean
    SecurityFilterChain chain(HttpSecurity http) throws Exception {
      return needingScope(http).oauth2ResourceServer(server -> server.opaqueToken(withDefaults())).build();
    }

    @GetMapping("/opaque")
    String api(Authentication caller) {
      return caller.getName();
    }
  }

  static HttpSecurity needingScope(HttpSecurity http) throws Exception {
    var authority = "SCOPE_" + System.getenv("API_SCOPE");
    return http.authorizeHttpRequests(requests -> requests.anyRequest().hasAuthority(authority));
  }

  @Profile("client")
  @RestController
  static class Client {
    @Bean
    SecurityFilterChain chain(HttpSecurity http, ClientRegistrationRepository registrations) throws Exception {
      var signOut = new OidcClientInitiatedLogoutSuccessHandler(registrations);
      signOut.setPostLogoutRedirectUri("{baseUrl}/");
      return http.authorizeHttpRequests(requests -> requests.anyRequest().authenticated())
          .oauth2Login(withDefaults())
          .logout(logout -> logout.logoutSuccessHandler(signOut))
          .build();
    }

    @GetMapping("/")
    Map<String, Object> home(@AuthenticationPrincipal OidcUser user) {
      return user.getClaims();
    }

    /** Refreshes long before the access token expires, which Spring does once it has. */
    @GetMapping("/refresh")
    Map<String, String> refresh(
        @RegisteredOAuth2AuthorizedClient("tessera") OAuth2AuthorizedClient client, Authentication user) {
      var provider = new RefreshTokenOAuth2AuthorizedClientProvider();
      provider.setClockSkew(Duration.ofHours(1));
      var refreshed =
          provider.authorize(OAuth2AuthorizationContext.withAuthorizedClient(client).principal(user).build());
      return Map.of("token", refreshed.getAccessToken().getTokenValue());
    }
  }
}
