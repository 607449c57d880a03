package example;

import static org.springframework.security.config.Customizer.withDefaults;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.GrantedAuthority;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.core.authority.SimpleGrantedAuthority;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.server.resource.authentication.JwtAuthenticationConverter;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A client with a sign-in, and below /api a resource server that takes its roles from realm_access.roles. */
@SpringBootApplication
@RestController
public class Application {
  public static void main(String[] args) {
    SpringApplication.run(Application.class, args);
  }

  @Bean
  @Order(1)
  SecurityFilterChain api(HttpSecurity http) throws Exception {
    var converter = new JwtAuthenticationConverter();
    converter.setJwtGrantedAuthoritiesConverter(Application::roles);
    return http.securityMatcher("/api/**")
        .authorizeHttpRequests(requests -> requests.anyRequest().hasRole("clerk"))
        .oauth2ResourceServer(server -> server.jwt(jwt -> jwt.jwtAuthenticationConverter(converter)))
        .build();
  }

  @Bean
  @Order(2)
  SecurityFilterChain pages(HttpSecurity http, ClientRegistrationRepository registrations) throws Exception {
    var signOut = new OidcClientInitiatedLogoutSuccessHandler(registrations);
    signOut.setPostLogoutRedirectUri("{baseUrl}/bye");
    return http.authorizeHttpRequests(
            requests -> requests.requestMatchers("/bye").permitAll().anyRequest().authenticated())
        .oauth2Login(withDefaults())
        .logout(logout -> logout.logoutSuccessHandler(signOut))
        .build();
  }

  static Collection<GrantedAuthority> roles(Jwt token) {
    Map<String, List<String>> access = token.getClaim("realm_access");
    return access.get("roles").stream()
        .<GrantedAuthority>map(role -> new SimpleGrantedAuthority("ROLE_" + role))
        .toList();
  }

  @GetMapping("/")
  Map<String, Object> home(@AuthenticationPrincipal OidcUser user) {
    return user.getClaims();
  }

  @GetMapping("/bye")
  String bye() {
    return "Signed out.";
  }

  @GetMapping("/api/me")
  String me(@AuthenticationPrincipal Jwt token) {
    return token.getSubject();
  }
}
