import { describe, expect, test } from 'vitest';
import { CookieJar } from './cookies.ts';

const secure = new URL('https://id.example/login');
const plain = new URL('http://id.example/login');
const loopback = new URL('http://localhost:8080/login');

describe('a cookie jar', () => {
  test('sends a host-only cookie back to its host and to no other (RFC 6265 §5.4)', () => {
    const jar = new CookieJar();
    jar.set(secure, 'a=1; Path=/');
    expect(jar.header(new URL('https://id.example/x'))).toBe('a=1');
    expect(jar.header(new URL('https://www.id.example/x'))).toBeUndefined();
  });

  test('keeps a cookie below its path (RFC 6265 §5.1.4)', () => {
    const jar = new CookieJar();
    jar.set(secure, 'a=1; Path=/device');
    expect(jar.header(new URL('https://id.example/device/confirm'))).toBe('a=1');
    expect(jar.header(new URL('https://id.example/devices'))).toBeUndefined();
  });

  test('drops a cookie that its host ends with Max-Age=0 (RFC 6265 §5.2.2)', () => {
    const jar = new CookieJar();
    jar.set(secure, 'a=1; Path=/');
    jar.set(secure, 'a=; Path=/; Max-Age=0');
    expect(jar.all()).toEqual([]);
  });

  test('refuses a __Host- cookie that is not secure, has a domain, or another path than /', () => {
    const jar = new CookieJar();
    jar.set(secure, '__Host-a=1; Path=/');
    jar.set(secure, '__Host-a=1; Path=/; Secure; Domain=id.example');
    jar.set(secure, '__Host-a=1; Path=/login; Secure');
    expect(jar.all()).toEqual([]);
    jar.set(secure, '__Host-a=1; Path=/; Secure');
    expect(jar.header(secure)).toBe('__Host-a=1');
  });

  test('takes and sends secure cookies over https and loopback only', () => {
    const jar = new CookieJar();
    jar.set(plain, 'a=1; Secure');
    expect(jar.all()).toEqual([]);
    jar.set(loopback, 'b=2; Secure');
    expect(jar.header(loopback)).toBe('b=2');
    jar.set(secure, 'c=3; Secure');
    expect(jar.header(plain)).toBeUndefined();
  });
});
