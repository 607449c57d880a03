import express from 'express';
import session from 'express-session';
import passport from 'passport';
import { strategy } from './strategy.js';

passport.use('tessera', strategy);
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));

const app = express();
app.use(session({ secret: process.env.AUTH_SECRET, resave: false, saveUninitialized: false }));
app.use(passport.session());
app.get('/', (req, res) => (req.user ? res.json(req.user) : res.redirect('/sign-in')));
app.get('/sign-in', passport.authenticate('tessera'));
app.get('/callback', passport.authenticate('tessera', { successRedirect: '/' }));
app.get('/logout', (req, res, next) => req.logout((error) => (error ? next(error) : res.json('signed out'))));
app.listen(19400);
