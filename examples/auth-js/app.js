import { ExpressAuth, getSession } from '@auth/express';
import express from 'express';
import { authConfig } from './auth.config.js';

const app = express();
app.use('/auth', ExpressAuth(authConfig));
app.get('/', async (req, res) => res.json((await getSession(req, authConfig)) ?? 'signed out'));
app.listen(19400);
