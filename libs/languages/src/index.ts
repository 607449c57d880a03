/**
 * Sentences in the languages of people, for pages and mail, and what browsers are called there. It reads the messages once, and knows neither.
 *
 *     gateway, for pages ──┐
 *     directory, for mail ─┴─> languages ─> one JSON file per language (../messages)
 *                                       └─> those of an operator (TESSERA_MESSAGES_DIR)
 */
export { browserName } from './browser-name.ts';
export { loadLanguages, readMessages, type Language, type Languages, type Values } from './languages.ts';
