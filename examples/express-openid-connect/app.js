import express from 'express';
import { auth } from 'express-openid-connect';
import { oidcConfig } from './oidc.config.js';

const app = express();
app.use(auth(oidcConfig));
app.get('/', async (req, res) => res.json(await req.oidc.fetchUserInfo()));
app.get('/refresh', async (req, res) => res.json(await req.oidc.accessToken.refresh()));
app.listen(19400);
