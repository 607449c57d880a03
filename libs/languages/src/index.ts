/**
 * Sentences in the languages of people, for pages and mail, and what browsers are called there. It reads the messages
 * once, and knows neither.
 *
 *     gateway, for pages ──┐
 *     directory, for mail ─┴─> languages ─> one JSON file per language (../messages), and one in each folder of a topic
 *                                       └─> those of an operator (TESSERA_MESSAGES_DIR)
 */
export { browserName } from './browser-name.ts';
export {
  loadLanguages,
  readOurs,
  type Language,
  type Languages,
  type Moment,
  type OwnWords,
  type Values,
} from './languages.ts';
