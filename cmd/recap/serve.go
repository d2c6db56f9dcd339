package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/server/inspector"
)

// tokenVariable may hold the token, which other users of the machine can read
// on a command line.
const tokenVariable = "RECAP_TOKEN"

// serveOptions are the flags of serve.
type serveOptions struct {
	db, addr, token string
	hosts           []string
	json            bool
}

func newServe() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve DB",
		Short: "Show the sessions of a database in a browser",
		Long: `Serve shows the sessions of a database as web pages: the log of each, what its
summaries stand in for, what a model is sent of it, and how large its prompts
were. It changes nothing, and a SQLite file is opened read-only.

It listens on this machine only, unless a token is set; then every request needs
it. ` + tokenVariable + ` sets it as well, and keeps it out of the list of processes.

` + databaseHelp,
		Example: `  recap serve chat.db
  recap serve chat.db --addr 127.0.0.1:9000
  ` + tokenVariable + `=... recap serve chat.db --addr :8080`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return inputError{errors.New("serve needs one database; see recap serve --help")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.db = args[0]
			if o.token == "" {
				o.token = os.Getenv(tokenVariable)
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8088", "`address` to listen on; with port 0, any free one")
	flags.StringVar(&o.token, "token", "", "`secret` that every request needs (default: that of "+tokenVariable+")")
	flags.StringSliceVar(&o.hosts, "host", nil, "another `name` by which this machine may be addressed, without port")
	flags.BoolVar(&o.json, "json", false, "print where the pages are as one line of JSON")
	return cmd
}

func (o *serveOptions) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	address, err := o.address()
	if err != nil {
		return inputError{err}
	}
	d, err := openDB(o.db, reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	handler, err := inspector.New(inspector.Config{
		SessionService: d.service, ListApps: d.apps, Token: o.token, Hosts: o.hosts, Logger: logger,
	})
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", address.String())
	if err != nil {
		return inputError{fmt.Errorf("--addr %s: %w", o.addr, err)}
	}
	if err := o.tell(stdout, d.name, o.url(listener.Addr())); err != nil {
		return errors.Join(err, listener.Close())
	}
	return serveUntil(ctx, listener, handler, logger)
}

// tell says where the pages are.
func (o *serveOptions) tell(stdout io.Writer, db, url string) error {
	if o.json {
		return json.NewEncoder(stdout).Encode(map[string]string{"database": db, "url": url})
	}
	_, err := fmt.Fprintf(stdout, "%s is shown at %s\n", db, url)
	return err
}

// address is where to listen. What others can reach needs a token.
func (o *serveOptions) address() (*net.TCPAddr, error) {
	address, err := net.ResolveTCPAddr("tcp", o.addr)
	if err != nil {
		return nil, fmt.Errorf("--addr is %q; it must be an address such as 127.0.0.1:8088", o.addr)
	}
	if !address.IP.IsLoopback() && o.token == "" {
		return nil, fmt.Errorf("--addr is %q, which others can reach: set %s or --token, or take a loopback address", o.addr, tokenVariable)
	}
	return address, nil
}

// url is what to open. It has no token, as what is printed may be kept.
func (o *serveOptions) url(address net.Addr) string {
	host, port, _ := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/"}).String()
}

// serveUntil serves until ctx is done; then it lets requests end, for a while.
// Being told to stop is how this ends, and no error.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler, logger *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	<-ended
	return err
}
